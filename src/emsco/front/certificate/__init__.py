"""Certificates: promises about new rows that fresh labelled rows have borne out.

`test` says how one promise, one design and a sequence of designs are tested: read it first. `plan`
puts designs in order by the scored rows, and says how many fresh rows a test takes. `certify` takes
the fresh rows, refuses those that the search has seen, begins with the deployed design if that is
likely to pass, and runs the tests. `record` is what comes out, to print, save and load.
"""

from emsco.front.certificate.certify import FreshRows, certify
from emsco.front.certificate.plan import CertificatePlan, plan_certificate
from emsco.front.certificate.record import Certificate

__all__ = ["Certificate", "CertificatePlan", "FreshRows", "certify", "plan_certificate"]
