"""Sends datagrams as an AIMD window allows. Usage: python3 sender.py ADDRESS"""

import json
import socket
import sys
import time

from aimd import Window

PORT = 5001
SIZE = 1400  # bytes of a datagram
REORDERED = 3  # so many later ones come before one that is not lost
TELL_S = 0.1


def main(address: str) -> None:
    window = Window()
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    endpoint.connect((address, PORT))
    in_flight: dict[int, float] = {}
    number, told = 0, 0.0
    while True:
        while len(in_flight) < window.size:
            in_flight[number] = time.monotonic()
            endpoint.send(number.to_bytes(8, "big").ljust(SIZE, b"\0"))
            number += 1
        endpoint.settimeout(window.patience)
        try:
            acked = int.from_bytes(endpoint.recv(8), "big")
        except TimeoutError:
            window.timed_out()
            in_flight.clear()
            continue
        if acked not in in_flight:
            continue
        now = time.monotonic()
        rtt = now - in_flight.pop(acked)
        window.acked(rtt)
        lost = [each for each in in_flight if each < acked - REORDERED]
        for each in lost:
            del in_flight[each]
        if lost:
            window.lost(now)
        if now - told >= TELL_S:
            told = now
            print(json.dumps({"cwnd": window.size, "rtt": {"ms": rtt * 1e3}}))


if __name__ == "__main__":
    main(sys.argv[1])
