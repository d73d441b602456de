"""The ways into a storage account besides its key: signatures with just the rights that are needed, and an identity."""

import base64
import ipaddress
import json
import traceback
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.emulators import azurite as emulated_azure
from tests.emulators.azurite import ACCOUNT, KEY, Azurite
from tests.emulators.clients import connect
from tests.emulators.server import Emulator, Reply, Request
from webapp.clock import utc_now
from webapp.provider_errors import FailureCode, ProviderError
from webapp.providers.azure.blob import AzureBlobStore

pytestmark = [pytest.mark.azurite, pytest.mark.slow]
HOUR = timedelta(hours=1)


def signed(azurite: Azurite, container: str, *, expires_in: timedelta = HOUR, rights: str = "racwdl") -> str:
    """A connection string that holds a signature for one container, and no key."""
    signature = generate_container_sas(
        ACCOUNT,
        container,
        account_key=KEY,
        permission=ContainerSasPermissions.from_string(rights),
        expiry=utc_now() + expires_in,
    )
    return f"BlobEndpoint=http://127.0.0.1:{azurite.port}/{ACCOUNT};SharedAccessSignature={signature}"


@pytest.fixture
def container(azurite: Azurite) -> str:
    """A container that somebody with more rights has made."""
    name = f"test-{uuid4().hex}"
    BlobServiceClient.from_connection_string(azurite.connection_string).create_container(name)
    return name


def test_a_signature_for_one_container_is_enough(azurite: Azurite, container: str, tmp_path: Path) -> None:
    store = connect(signed(azurite, container), tmp_path / "incoming", container)
    store.check()
    source = store.incoming() / "upload"
    source.write_bytes(b"words")
    store.put_file("a/original", source)
    store.put_bytes("a/text", b"more")
    assert store.read_bytes("a/original") == b"words"
    assert [info.path for info in store.list()] == ["a/original", "a/text"]
    assert store.delete_prefix("a") == 2


@pytest.mark.parametrize("how", ["expired", "read only"])
def test_a_signature_that_does_not_do_is_said_without_being_told(
    azurite: Azurite, container: str, tmp_path: Path, how: str
) -> None:
    given = signed(azurite, container, expires_in=-HOUR) if how == "expired" else signed(azurite, container, rights="r")
    store = connect(given, tmp_path / "incoming", container)
    with pytest.raises(ProviderError) as caught:
        store.check()
    assert caught.value.code is FailureCode.CREDENTIALS_REFUSED
    assert caught.value.permanent
    said = "".join(traceback.format_exception(caught.value))
    assert given.partition("sig=")[2] not in said


class MachineIdentity(Emulator):
    """What a machine at Azure asks for its own tokens; storage looks at what they claim."""

    def kind_of(self, request: Request) -> str:
        return request.query.get("resource", "")

    def is_known(self, request: Request) -> bool:
        return request.headers.get("x-identity-header") == self.key

    def error(self, status: int, request: Request) -> object:
        return {"error": status}

    def answer(self, kind: str, request: Request) -> Reply:
        ends = int((utc_now() + HOUR).timestamp())
        claims = {"aud": kind, "iss": "https://sts.windows.net/emulated/", "nbf": ends - 7200, "iat": ends - 7200}
        token = ".".join(map(_encoded, ({"alg": "none", "typ": "JWT"}, claims | {"exp": ends})))
        answer = {"access_token": f"{token}.sign", "expires_on": str(ends), "resource": kind, "token_type": "Bearer"}
        return Reply(200, answer)


def _encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


@pytest.fixture
def identity() -> Iterator[MachineIdentity]:
    server = MachineIdentity()
    server.start()
    yield server
    server.stop()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of loopback's, and its key: tokens travel over TLS only."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")]),
    )
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(utc_now() - HOUR)
        .not_valid_after(utc_now() + HOUR)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    of_certificate, of_key = folder / "cert.pem", folder / "key.pem"
    of_certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem = serialization.PrivateFormat.PKCS8
    of_key.write_bytes(key.private_bytes(serialization.Encoding.PEM, pem, serialization.NoEncryption()))
    return of_certificate, of_key


def test_a_machines_identity_is_enough(
    identity: MachineIdentity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, key = certificate(tmp_path)
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{identity.url}/token")
    monkeypatch.setenv("IDENTITY_HEADER", identity.key)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(trusted))
    (tmp_path / "azurite").mkdir()
    with emulated_azure.running(tmp_path / "azurite", "--oauth", "basic", "--cert", trusted, "--key", key) as azurite:
        address = f"https://127.0.0.1:{azurite.port}/{ACCOUNT}"
        store = AzureBlobStore.connect(
            tmp_path / "incoming", "docmill", connection_string="", account_url=address, timeout_seconds=20
        )
        store.check()
        store.put_bytes("a", b"words")
        assert store.read_bytes("a") == b"words"
        assert identity.calls == {"https://storage.azure.com": 1}
        store._container.close()
