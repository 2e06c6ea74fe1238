"""Records and certificates with fields of other types or sizes, as fuzzing found them: refused, never a crash."""

from __future__ import annotations

import json

import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.planning.certificate import Certificate

PLAN = gm.plan(gm.Box([0, 1], [1, 3]), gm.Guarantee(mu=1), count=True)


@pytest.mark.parametrize("field", ["id", "receipt", "gaussmith"])
@pytest.mark.parametrize("value", [True, 3, 0.5, [], {}])
def test_a_name_that_is_no_text_is_refused(field, value):
    fields = json.loads(PLAN.release([[0.5, 2.0]]).to_json())
    with refused("not-a-release"):
        gm.read(json.dumps({**fields, field: value}))


@pytest.mark.parametrize("records", [10**400, -1, [], "3", True, 0.5])
def test_a_number_of_records_that_is_none_is_refused(records):
    fields = json.loads(PLAN.release([[0.5, 2.0]]).to_json())
    fields["queries"][0]["records"] = records
    with refused("not-a-release"):
        gm.read(json.dumps(fields))


@pytest.mark.parametrize("field", ["mu", "lower_bound", "price"])
def test_a_certificate_with_a_number_beyond_doubles_is_refused(field):
    fields = json.loads(PLAN.certificate.to_json())
    fields["proofs"][0][field] = 10**400
    with refused("not-a-certificate"):
        Certificate.from_json(json.dumps(fields))
