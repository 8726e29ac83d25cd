#!/usr/bin/python3
"""pymodbus_server.py IMAGE tcp PORT | IMAGE rtu DEVICE: serves the registers of a file with pymodbus 3.0.

The file has the words of each unit from address 40000 on: {"1": [21365, ...]}.
"""
import asyncio
import json
import sys

from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.server import StartAsyncSerialServer, StartAsyncTcpServer
from pymodbus.transaction import ModbusRtuFramer


async def main(image, kind, where):
    with open(image, encoding="utf-8") as f:
        units = {int(unit): ModbusSlaveContext(hr=ModbusSequentialDataBlock(40000, words), zero_mode=True) for unit, words in json.load(f).items()}
    context = ModbusServerContext(slaves=units, single=False)
    if kind == "tcp":
        await StartAsyncTcpServer(context, address=("127.0.0.1", int(where)))
    else:
        await StartAsyncSerialServer(context, framer=ModbusRtuFramer, port=where, baudrate=19200, ignore_missing_slaves=True)


asyncio.run(main(*sys.argv[1:]))
