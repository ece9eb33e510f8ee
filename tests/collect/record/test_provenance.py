"""The version that rows carry: its commit is never lost in silence."""

from collect.record import provenance


def test_a_worker_bears_the_version_of_the_command_that_began_it(monkeypatch):
    monkeypatch.setattr(provenance, "_of_driver", None)
    of_this_process = provenance.code_version()
    provenance.take_version_of_driver("1.2.3+g0123456789ab")
    assert provenance.versions()["code_version"] == "1.2.3+g0123456789ab"
    provenance.take_version_of_driver(None)
    assert provenance.code_version() == of_this_process
