"""The doors harness: whatever a user can pass, two neighbours never differ by more than was charged.

    table ──neighbours──▶ two tables ──format──▶ two sources ──request──▶ two releases ──compare──▶ a finding

Releases are made through public requests only, with known noise (`noise`, the one file that looks inside). Their
integers are compared in exact arithmetic, and so is everything else that can be seen: whether there is a release, exit
code, printed text, warnings, and every byte of the record but the released values.

    values       ids and numbers that are easily misread; what makes two ids the same
    tables       tables of no format, and neighbours
    formats      every way to pass a table (frames, files, texts)
    asks         every kind of request
    runs         one release and what can be seen of it
    comparison   two of them
    trials       random pairs, and the table of what was found
    pairs        pairs with names
    cases        all of them: each was a violation once, or is a rule that keeps one away
"""
