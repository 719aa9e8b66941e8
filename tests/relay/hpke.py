"""HPKE in base mode, written out from RFC 9180 to hold the library to it.

The library's one-shot calls take neither additional data nor an ephemeral key, so the RFC's own
vectors cannot be put through them: they pass here, and what is sealed here opens there.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_KDF_HKDF_SHA256, _AEAD_AES_128_GCM = b"\x00\x01", b"\x00\x01"


@dataclass(frozen=True)
class Kem:
    """A group: its number in RFC 9180, and how its keys are written and joined."""

    number: bytes
    public: Callable[[bytes], bytes]
    exchange: Callable[[bytes, bytes], bytes]


def _p256(secret: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())


P256 = Kem(
    b"\x00\x10",
    lambda secret: (
        _p256(secret).public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    ),
    lambda secret, point: _p256(secret).exchange(
        ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    ),
)
X25519 = Kem(
    b"\x00\x20",
    lambda secret: (
        x25519.X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    ),
    lambda secret, point: x25519.X25519PrivateKey.from_private_bytes(secret).exchange(
        x25519.X25519PublicKey.from_public_bytes(point)
    ),
)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, size: int) -> bytes:
    text = size.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, text + b"\x01", hashlib.sha256)[:size]


def shared_secret(kem: Kem, joint: bytes, enc: bytes, receiver: bytes) -> bytes:
    """ExtractAndExpand of section 4.1."""
    suite = b"KEM" + kem.number
    key = _extract(suite, b"", b"eae_prk", joint)
    return _expand(suite, key, b"shared_secret", enc + receiver, 32)


def schedule(kem: Kem, secret: bytes, info: bytes) -> tuple[bytes, bytes]:
    """The key and the base nonce of section 5.1, in base mode."""
    suite = b"HPKE" + kem.number + _KDF_HKDF_SHA256 + _AEAD_AES_128_GCM
    context = b"\x00" + b"".join(
        _extract(suite, b"", label, text)
        for label, text in ((b"psk_id_hash", b""), (b"info_hash", info))
    )
    key = _extract(suite, secret, b"secret", b"")
    return (
        _expand(suite, key, b"key", context, 16),
        _expand(suite, key, b"base_nonce", context, 12),
    )


def seal(
    kem: Kem, ephemeral: bytes, receiver: bytes, info: bytes, plain: bytes, aad: bytes = b""
) -> bytes:
    """The ephemeral public key and the ciphertext, one after the other."""
    enc = kem.public(ephemeral)
    secret = shared_secret(kem, kem.exchange(ephemeral, receiver), enc, receiver)
    key, nonce = schedule(kem, secret, info)
    return enc + AESGCM(key).encrypt(nonce, plain, aad)


def unseal(kem: Kem, private: bytes, sealed: bytes, info: bytes, aad: bytes = b"") -> bytes:
    """What `seal` sealed."""
    receiver = kem.public(private)
    enc, text = sealed[: len(receiver)], sealed[len(receiver) :]
    secret = shared_secret(kem, kem.exchange(private, enc), enc, receiver)
    key, nonce = schedule(kem, secret, info)
    return AESGCM(key).decrypt(nonce, text, aad)
