"""The vectors of RFC 9474, appendix A: one key and one blinding factor, four variants.

Of every number that comes out, which has 512 bytes, the first 32 and the last 32 are here.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PRIME = int(
    "e1f4d7a34802e27c7392a3cea32a262a34dc3691bd87f3f310dc7567348893055"
    "9c120fd0410194fb8a0da55bd0b81227e843fdca6692ae80e5a5d414116d4803f"
    "ca7d8c30eaaae57e44a1816ebb5c5b0606c536246c7f11985d731684150b63c9a"
    "3ad9e41b04c0b5b27cb188a692c84696b742a80d3cd00ab891f2457443dadfeba"
    "6d6daf108602be26d7071803c67105a5426838e6889d77e8474b29244cefaf418"
    "e381b312048b457d73419213063c60ee7b0d81820165864fef93523c9635c2221"
    "0956e53a8d96322493ffc58d845368e2416e078e5bcb5d2fd68ae6acfa54f9627"
    "c42e84a9d3f2774017e32ebca06308a12ecc290c7cd1156dcccfb2311",
    16,
)
SECOND_PRIME = int(
    "c601a9caea66dc3835827b539db9df6f6f5ae77244692780cd334a006ab353c80"
    "6426b60718c05245650821d39445d3ab591ed10a7339f15d83fe13f6a3dfb20b9"
    "452c6a9b42eaa62a68c970df3cadb2139f804ad8223d56108dfde30ba7d367e9b"
    "0a7a80c4fdba2fd9dde6661fc73fc2947569d2029f2870fc02d8325acf28c9afa"
    "19ecf962daa7916e21afad09eb62fe9f1cf91b77dc879b7974b490d3ebd2e9542"
    "6057f35d0a3c9f45f79ac727ab81a519a8b9285932d9b2e5ccd347e59f3f32ad9"
    "ca359115e7da008ab7406707bd0e8e185a5ed8758b5ba266e8828f8d863ae1338"
    "46304a2936ad7bc7c9803879d2fc4a28e69291d73dbd799f8bc238385",
    16,
)
INVERSE = int(
    "80682c48982407b489d53d1261b19ec8627d02b8cda5336750b8cee332ae260d"
    "e57b02d72609c1e0e9f28e2040fc65b6f02d56dbd6aa9af8fde656f70495dfb7"
    "23ba01173d4707a12fddac628ca29f3e32340bd8f7ddb557cf819f6b01e445ad"
    "96f874ba235584ee71f6581f62d4f43bf03f910f6510deb85e8ef06c7f09d979"
    "4a008be7ff2529f0ebb69decef646387dc767b74939265fec0223aa6d84d2a8a"
    "1cc912d5ca25b4e144ab8f6ba054b54910176d5737a2cff011da431bd5f2a0d2"
    "d66b9e70b39f4b050e45c0d9c16f02deda9ddf2d00f3e4b01037d7029cd49c2d"
    "46a8e1fc2c0c17520af1f4b5e25ba396afc4cd60c494a4c426448b35b49635b3"
    "37cfb08e7c22a39b256dd032c00adddafb51a627f99a0e1704170ac1f1912e49"
    "d9db10ec04c19c58f420212973e0cb329524223a6aa56c7937c5dffdb5d966b6"
    "cd4cbc26f3201dd25c80960a1a111b32947bb78973d269fac7f5186530930ed1"
    "9f68507540eed9e1bab8b00f00d8ca09b3f099aae46180e04e3584bd7ca054df"
    "18a1504b89d1d1675d0966c4ae1407be325cdf623cf13ff13e4a28b594d59e3e"
    "adbadf6136eee7a59d6a444c9eb4e2198e8a974f27a39eb63af2c9af3870488b"
    "8adaad444674f512133ad80b9220e09158521614f1faadfe8505ef57b7df6813"
    "048603f0dd04f4280177a11380fbfc861dbcbd7418d62155248dad5fdec0991f",
    16,
)
MODULUS = (
    "aec4d69addc70b990ea66a5e70603b6fee27aafebd08f2d94cbe1250c556e047",
    "2fa6d07b832e07cddd1d14f55325c6f924267957121902dc19b3b32948bdead5",
)
MESSAGE = (
    "8f3dc6fb8c4a02f4d6352edf0907822c1210a9b32f9bdda4c45a698c80023aa6"
    "b59f8cfec5fdbb36331372ebefedae7d"
)
_SALT = (
    "051722b35f458781397c3a671a7d3bd3096503940e4c4f1aaa269d60300ce449"
    "555cd7340100df9d46944c5356825abf"
)


@dataclass(frozen=True)
class Vector:
    """What goes in, and how what comes out begins and ends."""

    name: str
    prefix: str
    salt: str
    blinded: tuple[str, str]
    answer: tuple[str, str]
    signature: tuple[str, str]


VECTORS = (
    Vector(
        "RSABSSA-SHA384-PSS-Deterministic",
        "",
        _SALT,
        (
            "10c166c6a711e81c46f45b18e5873cc4f494f003180dd7f115585d871a289302",
            "51837daa78f23e532156296b64352669c94a8a855acf30533d8e0594ace7c442",
        ),
        (
            "364f6a40dbfbc3bbb257943337eeff791a0f290898a6791283bba581d9eac90a",
            "40eda03382548a34a7110f9b1779bf3ef6011361611e6bc5c0dc851e1509de1a",
        ),
        (
            "6fef8bf9bc182cd8cf7ce45c7dcf0e6f3e518ae48f06f3c670c649ac737a8b81",
            "a39001c5856fab36228f5ee2f2e1110811872fe7c865c42ed59029c706195d52",
        ),
    ),
    Vector(
        "RSABSSA-SHA384-PSSZERO-Deterministic",
        "",
        "",
        (
            "982790826556aabe6004467671a864397eea3b95740e9a11c8b80b99ee0cf4db",
            "4e79205290b4f76c42ef039638c41cdc6fe8af9b429c0dee45b2942e3861da2a",
        ),
        (
            "362ef369f9b8c1487e285514702a7cd6fe03e4a2fb854881f3d3f986b7742a0c",
            "54d4f7c3d9a55e22246e829cdb5a1c6fb2a0a6c896df303063c918bcf5eb0017",
        ),
        (
            "4454b6983ff01cb28545329f394936efa42ed231e15efbc025fdaca00277acf0",
            "d3b4fca33ec6251897a137cf75474a32ac8256df5e5ffa518b88b43fb6f63a24",
        ),
    ),
    Vector(
        "RSABSSA-SHA384-PSS-Randomized",
        "8417e699b219d583fb6216ae0c53ca0e9723442d02f1d1a34295527e7d929e8b",
        _SALT,
        (
            "aa3ee045138d874669685ffaef962c7694a9450aa9b4fd6465db9b3b75a522bb",
            "6120885f39e8ccaadbb20f3196378c07b1ff22d10049d3039a7a92fe7efdd95d",
        ),
        (
            "3f4a79eacd4445fca628a310d41e12fcd813c4d43aa4ef2b81226953248d6d00",
            "3f737bea5c78d716a48eb9dc0aec8de39c4b45c6914ad4a8185969f70b1adf46",
        ),
        (
            "191e941c57510e22d29afad257de5ca436d2316221fe870c7cb75205a6c071c2",
            "e910ae37771abf2adb9f63bc058bf58062ad456cb934679795bbdfcdfad5e0f2",
        ),
    ),
    Vector(
        "RSABSSA-SHA384-PSSZERO-Randomized",
        "84ea86c8cf3beedfed73beceabd792027c609d1100bf041fdd60d826a718130d",
        "",
        (
            "4c1b82d9b97b968b2ce0754e326abd49e3d723ed937d84bead34b6a834483b43",
            "1cf6ca81cf2097b7b19d2b36bd246f390f53768f1c2e56113ea91b33c7cfa647",
        ),
        (
            "4894f64d7214c216282d9842cbf7e7cccd9c0dcb1f4294a6bdeccd4c4c244616",
            "d7780b9a5dc0cb3de2b700d12f49cbe4db51ca2f3c8a58b09e854cc71e8070ab",
        ),
        (
            "195363ba25e4bf763f6538c86865785f93f4ea6092da3ad200d41b99eb0eb086",
            "579d60bdda183398d66d76e0e8eceb1af2f27633589d043bcdc041683b31f7f1",
        ),
    ),
)
