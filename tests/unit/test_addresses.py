"""What is shown of an address: never a secret, and as much of the rest as can be told apart from one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gaussmith as gm
from gaussmith.engines.addresses import HIDDEN, location_of, short_name, without_secrets
from gaussmith.errors import GaussmithError
from gaussmith.pipeline.release import source_name

SHOWN = {
    # what users write, and what may be shown of it
    "people.parquet": "people.parquet",
    "/data/visits/2024.csv": "/data/visits/2024.csv",
    "visits/year=2024/month=5/*.parquet": "visits/year=2024/month=5/*.parquet",
    "visits/person_id=17/day=2024-05-01/a.parquet": "visits/person_id=17/day=2024-05-01/a.parquet",
    "visits/passengers=3/a.parquet": "visits/passengers=3/a.parquet",
    "/srv/ada@study.example/people.csv": "/srv/ada@study.example/people.csv",
    "a@b.csv": "a@b.csv",
    "2024-05-01T10:30.csv": "2024-05-01T10:30.csv",
    r"C:\data\people.csv": r"C:\data\people.csv",
    " people.csv": " people.csv",
    "": "",
    "data": "data",
    "s3://bucket/a.parquet": "s3://bucket/a.parquet",
    "s3://bucket/year=*/?.parquet": "s3://bucket/year=*/?.parquet",
    "s3://bucket/visits/**/*.parquet": "s3://bucket/visits/**/*.parquet",
    "https://host:8080/a/b.csv": "https://host:8080/a/b.csv",
    "https://[::1]:80/b.csv": "https://[::1]:80/b.csv",
    "file:///data/people.csv": "file:///data/people.csv",
    "duckdb://study.db?table=visits": "duckdb://study.db?table=visits",
    "duckdb://a@b.db?table=x": "duckdb://a@b.db?table=x",
    "duckdb:///data/study.db?query=SELECT a, b FROM visits WHERE a = 5": (
        "duckdb:///data/study.db?query=SELECT a, b FROM visits WHERE a = 5"
    ),
    "local[2]": "local[2]",
    "spark://one:7077,two:7077": "spark://one:7077,two:7077",
    "k8s://https://host:443": "k8s://https://host:443",
    # users, passwords, queries and fragments are dropped
    "s3://AKIA:hush@bucket/x.parquet": "s3://bucket/x.parquet",
    "s3://hush@bucket/x.parquet": "s3://bucket/x.parquet",
    "HTTPS://Ada:hush@Host/x.parquet": "HTTPS://Host/x.parquet",
    "https://hush@host/x.csv": "https://host/x.csv",
    "https://ada:hu@sh@host/x.csv": "https://host/x.csv",
    "https://host/x.csv?token=hush": "https://host/x.csv",
    "https://host/x.csv?hush": "https://host/x.csv",
    "https://host/x.csv?a=1&sig=hush&se=2": "https://host/x.csv",
    "https://host/x.csv#token=hush": "https://host/x.csv",
    "https://host/x.csv#hush": "https://host/x.csv",
    "https://host/x.csv;jsessionid=hush": "https://host/x.csv",
    "https://host?token=hush": "https://host",
    "s3://bucket/x.parquet?X-Amz-Signature=hush": "s3://bucket/x.parquet",
    "s3://bucket/x.parquet?hush": "s3://bucket/x.parquet",
    "az://container/x.parquet?sv=1&sig=hush": "az://container/x.parquet",
    "abfss://visits@account.dfs.core.windows.net/x.parquet": "abfss://account.dfs.core.windows.net/x.parquet",
    "sc://host:15002/;token=hush;user_id=ada": "sc://host:15002/",
    "postgresql://ada:hush@db/study?password=hush": "postgresql://db/study",
    "k8s://https://ada:hush@host:443": "k8s://https://host:443",
    " https://ada:hush@host/x.csv": " https://host/x.csv",
    "\thttps://ada:hush@host/x.csv": "\thttps://host/x.csv",
    "\ufeffhttps://ada:hush@host/x.csv": "\ufeffhttps://host/x.csv",
    "duckdb://a.db?table=x&password=hush": f"duckdb://a.db?table={HIDDEN}",
    "duckdb://a.db?motherduck_token=hush": f"duckdb://a.db?{HIDDEN}",
    "duckdb://a.db?hush": f"duckdb://a.db?{HIDDEN}",
    "duckdb://a.db?query=FROM 's3://AKIA:hu/sh@b/x'": f"duckdb://a.db?query={HIDDEN}",
    "duckdb://a.db?query=FROM postgres_scan('host=db password=hush', 'a')": f"duckdb://a.db?query={HIDDEN}",
    # where a secret could end anywhere, all is hidden
    "https://ada:hush/hush@host/x.csv": f"https://{HIDDEN}",
    "https://hu/sh@host/x.csv": f"https://{HIDDEN}",
    "https://ada:hu?sh@host/x.csv?token=hush": f"https://{HIDDEN}",
    "https://ada:hu#sh@host/x.csv": f"https://{HIDDEN}",
    "https://ada:hush%40host/x.csv": f"https://{HIDDEN}",
    "https://ada%3Ahush%40host/x.csv": f"https://{HIDDEN}",
    "https://host/x.csv?mail=a@hush": f"https://{HIDDEN}",
    "https://host/token=hush/x.csv": f"https://host/{HIDDEN}",
    "https:/ada:hush@host/x.csv": f"https:{HIDDEN}",
    "https:ada:hush@host/x.csv": f"https:{HIDDEN}",
    "https:\\\\ada:hush@host\\x.csv": f"https:{HIDDEN}",
    "https:///ada:hush@host/x.csv": f"https://{HIDDEN}",
    "S3:/AKIA:hush@bucket/x": f"S3:{HIDDEN}",
    "//ada:hush@host/x.csv": HIDDEN,
    "//hush@host/x.csv": HIDDEN,
    "://ada:hush@host/x.csv": HIDDEN,
    "ada:hush@host/x.csv": HIDDEN,
    "a:hush@host/x.csv": HIDDEN,
    "hush@host/x.csv": HIDDEN,
    "hush@host": HIDDEN,
    "ada:hush%40host/x.csv": HIDDEN,
    "https%3A//ada:hush@host/x.csv": HIDDEN,
    "h ttps://ada:hush@host/x.csv": HIDDEN,
    "jdbc:postgresql://host/db?user=ada&password=hush": f"jdbc:{HIDDEN}",
    "JDBC:sqlserver://host;user=ada;password=hush": f"JDBC:{HIDDEN}",
    "jdbc:oracle:thin:ada/hush@host:1521": f"jdbc:{HIDDEN}",
    "postgresql:/ada:hush@host/db": f"postgresql:{HIDDEN}",
    "host=db user=ada password=hush": HIDDEN,
    "host=db pw=hush": HIDDEN,
    "Server=db;Database=x;Uid=ada;Pwd=hush;": HIDDEN,
    "DefaultEndpointsProtocol=https;AccountName=ada;AccountKey=hush==;": HIDDEN,
    "AccountKey=hush": HIDDEN,
    "SharedAccessSignature=hush": HIDDEN,
    "password = hush": HIDDEN,
    "x.csv?sig=hush&token=hush": HIDDEN,
    "x.csv?x=hush": HIDDEN,
    "x.csv#access_token=hush": HIDDEN,
    "file://ada:hush@host/x.csv": f"file://{HIDDEN}",
    "duckdb://ada:hush@host/a.db?table=x": f"duckdb://{HIDDEN}",
    "duckdb:/ada:hush@host/a.db": f"duckdb:{HIDDEN}",
}


@pytest.mark.parametrize(("address", "shown"), SHOWN.items())
def test_what_is_shown_of_an_address(address: str, shown: str) -> None:
    assert without_secrets(address) == shown
    assert "hush" not in shown and "sh@" not in shown
    assert without_secrets(shown) in (shown, HIDDEN)  # said twice it is no less safe
    name = short_name(address)
    assert name is None or ("hush" not in name and HIDDEN not in name)


def test_the_table_holds_enough_addresses() -> None:
    assert len(SHOWN) >= 60
    assert sum("hush" in address or "sh@" in address for address in SHOWN) >= 60


def test_paths_of_every_kind_are_shown() -> None:
    assert without_secrets(b"people.csv") == without_secrets(Path("people.csv")) == "people.csv"
    assert without_secrets(b"\xff.csv") == "\udcff.csv"


TEMPLATES = (
    "{scheme}://ada:{secret}@host/x.csv",
    "{scheme}://{secret}@host/x.csv",
    "{scheme}://{secret}:ada@host/x.csv?a=b",
    "{scheme}:/ada:{secret}@host/x.csv",
    "{scheme}://host/x.csv?token={secret}",
    "{scheme}://host/x.csv?a=b&password={secret}&c=d",
    "{scheme}://host/x.csv#key={secret}",
    "{scheme}://host:15002/;token={secret}",
    "//ada:{secret}@host/x.csv",
    "ada:{secret}@host/x.csv",
    "jdbc:{scheme}://host/db?user=ada&password={secret}",
    "jdbc:{scheme}://host;user=ada;password={secret};x=y",
    "jdbc:oracle:thin:ada/{secret}@host:1521",
    "host=db password={secret}",
    "host=db port=5 sslpassword={secret}",
    "AccountName=ada;AccountKey={secret};x=y",
    "x.csv?sig={secret}",
    "duckdb://study.db?token={secret}",
    "duckdb://study.db?table=a&token={secret}",
    "duckdb://study.db?query=FROM '{scheme}://ada:{secret}@host/x.csv'",
    "duckdb://ada:{secret}@host/study.db?table=x",
)

SCHEMES = st.sampled_from(["https", "HTTP", "s3", "gs", "az", "abfss", "hf", "sc", "postgresql", "ftp", "zz"])
BLANKS = st.sampled_from(["", " ", "\t", "\n", "\ufeff", "  "])


@settings(max_examples=500)
@given(
    template=st.sampled_from(TEMPLATES),
    scheme=SCHEMES,
    blank=BLANKS,
    secret=st.one_of(
        st.text(min_size=4, max_size=20), st.text("ab/?#@:;&=%40\\ .[]", min_size=4), st.from_regex(r"[a-z0-9]{4,12}")
    ),
)
def test_a_secret_is_never_shown(template: str, scheme: str, blank: str, secret: str) -> None:
    marked = f"Zq{secret}qZ"  # none of the words of the templates
    shown = without_secrets(blank + template.format(scheme=scheme, secret=marked))
    assert "Zq" not in shown and "qZ" not in shown


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_every_text_can_be_shown(text: str) -> None:
    assert isinstance(without_secrets(text), str)
    assert isinstance(short_name(text), str | None)
    assert isinstance(location_of(text), str)


@settings(max_examples=200)
@given(st.lists(st.from_regex(r"\A[a-z0-9_. -]{1,12}\Z"), min_size=1, max_size=4))
def test_plain_paths_are_shown_as_they_are(parts: list[str]) -> None:
    path = "/".join(parts)
    assume("://" not in path)
    assert without_secrets(path) == path


@pytest.mark.parametrize("address", [address for address in SHOWN if "hush" in address])
def test_no_error_and_no_record_shows_a_secret(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    guarantee = gm.Guarantee(mu=1)
    request = gm.Request(address, count=True, guarantee=guarantee)
    said = [repr(request), str(request), source_name(address)]
    attempts = [
        lambda: gm.release(address),
        lambda: gm.release(address + "/request.toml"),
        lambda: gm.Request.from_toml(address),
        lambda: gm.Ledger(address),
        lambda: gm.release(request, ledger=address),
        lambda: gm.plan(gm.Box([0], [1]), guarantee).release([[1.0]], ledger=address),
        lambda: gm.read(Path(address)),
    ]
    if "://" not in address.lstrip() or address.lower().lstrip().startswith(("duckdb", "jdbc", "file")):
        attempts.append(lambda: gm.release(request))  # a store would be asked
    for attempt in attempts:
        with pytest.raises((GaussmithError, OSError)) as caught:
            attempt()
        assert isinstance(caught.value, GaussmithError), caught.value
        said += [str(caught.value), repr(caught.value.fields)]
    assert not [text for text in said if "hush" in text]
