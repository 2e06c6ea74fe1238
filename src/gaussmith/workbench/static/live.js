/* The page works without this file: it only swaps parts of the page while one types. */
"use strict";
(() => {
  const form = document.getElementById("request");
  document.documentElement.classList.add("live");

  const confirmForm = document.getElementById("confirm");
  if (confirmForm) confirmForm.addEventListener("submit", () => { document.getElementById("go").disabled = true; });

  const more = document.getElementById("n");
  if (more) {
    let waiting = 0;
    more.addEventListener("input", () => {
      document.getElementById("n-shown").textContent = more.value;
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        const answer = await fetch("/ledger?n=" + more.value);
        if (answer.ok) swap(new DOMParser().parseFromString(await answer.text(), "text/html"), ["each"]);
      }, 120);
    });
  }

  function swap(page, ids) {
    for (const id of ids) {
      const mine = document.getElementById(id), other = page.getElementById(id);
      if (mine && other) {  /* what was opened stays open */
        const was = mine.querySelectorAll("details");
        other.querySelectorAll("details").forEach((each, i) => { if (was[i] && was[i].open) each.open = true; });
      }
      if (mine && other && mine.innerHTML !== other.innerHTML) {
        const held = document.activeElement && mine.contains(document.activeElement) ? document.activeElement.id : "";
        mine.innerHTML = other.innerHTML;
        if (held && document.getElementById(held)) document.getElementById(held).focus();
      }
    }
  }

  if (!form) return;
  let timer = 0, number = 0;

  function ask(live) {
    const body = new URLSearchParams(new FormData(form));
    return fetch("/", { method: "POST", body, headers: { "X-Live": live } });
  }

  function show(page) {
    swap(page, ["live", "columns-told", "columns", "next"]);
    for (const mine of document.querySelectorAll(".says")) {
      const other = page.getElementById(mine.id);
      const text = other ? other.innerHTML : "";
      if (mine.innerHTML !== text) mine.innerHTML = text;
      const input = document.getElementById(mine.id.slice(5));
      if (input) input.toggleAttribute("aria-invalid", text.includes("error"));
      if (input && text.includes("error")) {
        input.setAttribute("aria-invalid", "true");
        for (let at = input.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
      }
    }
    for (const mine of document.querySelectorAll("#target, .of-questions select")) {  /* their options depend on other fields */
      const fresh = page.getElementById(mine.id);
      if (fresh && document.activeElement !== mine && mine.innerHTML !== fresh.innerHTML) mine.innerHTML = fresh.innerHTML;
    }
    for (const words of ["label[for=rows]", "#hint-rows"]) {  /* a guess of rows or of people */
      const mine = document.querySelector(words), fresh = page.querySelector(words);
      if (mine && fresh && mine.textContent !== fresh.textContent) mine.textContent = fresh.textContent;
    }
    const wrong = page.querySelector(".says .error b");
    const first = page.querySelector(".error-of");
    document.getElementById("announce").textContent =
      wrong ? "Not complete: " + wrong.textContent : first ? "Errors updated. First answer: plus or minus " + first.textContent : "";
  }

  async function update() {
    const mine = ++number;
    const live = document.getElementById("live");
    live.setAttribute("aria-busy", "true");
    try {
      const answer = await ask("plan");
      if (mine !== number) return;
      if (answer.status === 429) { timer = setTimeout(update, 1000); return; }
      if (!answer.ok) return;
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
      history.replaceState(null, "", "/?draft=" + form.dataset.draft);
      const later = await ask("later");
      if (mine === number && later.ok) swap(new DOMParser().parseFromString(await later.text(), "text/html"), ["later"]);
    } finally {
      live.setAttribute("aria-busy", "false");
    }
  }

  function soon(wait) { clearTimeout(timer); timer = setTimeout(update, wait); }

  form.addEventListener("input", (event) => {
    const slider = event.target.closest("[data-for]");
    if (slider) document.getElementById(slider.dataset.for).value = String(Number((10 ** (slider.value / 10)).toPrecision(2)));
    else if (event.target.id === "epsilon") place();
    soon(slider ? 80 : 250);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName === "INPUT") { event.preventDefault(); soon(0); }
  });

  function place() {
    const slider = document.getElementById("slide"), value = Number(document.getElementById("epsilon").value);
    if (slider && value > 0) slider.value = String(10 * Math.log10(value));
  }
  const slide = document.getElementById("slide");
  if (slide) { slide.parentElement.hidden = false; slide.parentElement.closest(".field").hidden = false; place(); }

  form.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.name === "update") { event.preventDefault(); soon(0); return; }
    if (button.name !== "drop" && button.name !== "add") return;
    event.preventDefault();
    const kind = button.value.split("-")[0], mine = document.getElementById("lines-" + kind);
    const body = new URLSearchParams(new FormData(form));
    body.append(button.name, button.value);
    const answer = await fetch("/", { method: "POST", body, headers: { "X-Live": "plan" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    mine.replaceChildren(...page.querySelectorAll("#lines-" + kind + " > .line"));  /* the server numbers them anew */
    const last = mine.lastElementChild;
    const next = button.name === "add" ? last.querySelector("select, input:not([type=hidden])") : last ? last.querySelector(".drop") : mine.parentElement.querySelector(".add[value=" + kind + "]");
    if (next) next.focus();
    soon(0);
  });
  soon(0);
})();
