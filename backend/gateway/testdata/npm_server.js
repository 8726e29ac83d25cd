// npm_server.js IMAGE PORT: serves the registers of a file over Modbus TCP with modbus-serial.
// The file has the words of each unit from address 40000 on: {"1": [21365, ...]}.
"use strict";
const fs = require("fs");
const ModbusRTU = require("modbus-serial");

const units = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const refuse = (code) => { throw Object.assign(new Error("refused"), { modbusErrorCode: code }); };
const server = new ModbusRTU.ServerTCP({
    getHoldingRegister(address, unit) {
        const words = units[unit] || refuse(11);
        const word = words[address - 40000];
        return word === undefined ? refuse(2) : word;
    },
}, { host: "127.0.0.1", port: Number(process.argv[3]), unitID: 255 });
server.on("socketError", () => {});
