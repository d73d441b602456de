"""Certificates for servers of the tests, signed by an authority of their own."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def certificates(folder: Path) -> tuple[str, str, str]:
    """An authority of our own; the key and the certificate of a server on loopback: three files."""
    now, names = datetime.now(UTC), [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    paths = [folder / name for name in ("authority.pem", "key.pem", "certificate.pem")]
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tests")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = []
    for name, key, is_authority in ((issuer, keys[0], True), (subject, keys[1], False)):
        builder = x509.CertificateBuilder(issuer, name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        if not is_authority:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        made.append(builder.sign(keys[0], hashes.SHA256()).public_bytes(Encoding.PEM))
    paths[0].write_bytes(made[0])
    paths[1].write_bytes(keys[1].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    paths[2].write_bytes(made[1])
    return str(paths[0]), str(paths[1]), str(paths[2])
