"""A bulk download over aioquic: bulk.py serve PORT [CC], bulk.py fetch ADDRESS PORT SECONDS.

The client asks for a number of bytes on a stream, and says at its end how many came. Both log into
the directory $QLOGDIR. CC is the server's congestion control: reno or cubic.
"""

import asyncio
import datetime
import json
import os
import ssl
import sys
from typing import NoReturn

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicFileLogger
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PROTOCOL = "bulk"
WINDOW = 64 << 20
"""Flow control is not what is looked at: so much may be on its way."""
ASKED = 128 << 20
"""So many bytes are asked for, more than come. aioquic holds what it has to send in memory."""


def configuration(*, client: bool, **more: object) -> QuicConfiguration:
    """What both ends have in common."""
    return QuicConfiguration(
        is_client=client,
        alpn_protocols=[PROTOCOL],
        max_data=WINDOW,
        max_stream_data=WINDOW,
        quic_logger=QuicFileLogger(os.environ["QLOGDIR"]),
        **more,
    )


def certify(settings: QuicConfiguration) -> None:
    """Give a server a certificate that nobody looks at."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, PROTOCOL)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now)
    settings.certificate = builder.sign(key, hashes.SHA256())
    settings.private_key = key


def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send as many bytes as a stream asks for."""

    async def send() -> None:
        writer.write(bytes(int(await reader.readline())))

    tasks.add(asyncio.ensure_future(send()))


tasks: set[asyncio.Future[None]] = set()


async def serving(port: str, cc: str = "reno") -> NoReturn:
    settings = configuration(client=False, congestion_control_algorithm=cc)
    certify(settings)
    await serve("::", int(port), configuration=settings, stream_handler=answer)
    while True:
        await asyncio.sleep(3600)


async def fetching(address: str, port: str, seconds: str) -> None:
    settings = configuration(client=True, verify_mode=ssl.CERT_NONE)
    loop = asyncio.get_running_loop()
    begin, total = loop.time(), 0
    async with connect(address, int(port), configuration=settings) as client:
        reader, writer = await client.create_stream()
        writer.write(b"%d\n" % ASKED)
        try:
            async with asyncio.timeout_at(begin + float(seconds)):
                while piece := await reader.read(1 << 16):
                    total += len(piece)
        except TimeoutError:
            print(json.dumps({"bytes": total, "seconds": loop.time() - begin}))
        else:
            sys.exit(f"the server has closed the stream after {total} bytes")


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    asyncio.run(serving(*words) if what == "serve" else fetching(*words))
