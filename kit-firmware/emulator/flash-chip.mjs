/**
 * The serial interface of the flash chip, as far as firmware talks to it itself: reading the
 * unique ID and status. (Reading the flash is reading memory; erasing and programming go through
 * the ROM, see rom.mjs.)
 */
import { BasePeripheral } from 'rp2040js';

const SSI_SR = 0x28;
const SSI_TXFLR = 0x20;
const SSI_RXFLR = 0x24;
const SSI_IDR = 0x58;
const SSI_VERSION_ID = 0x5c;
const SSI_DR0 = 0x60;
const SSI_DR_END = 0xec;
const SR_TX_NOT_FULL = 2;
const SR_TX_EMPTY = 4;
const SR_RX_NOT_EMPTY = 8;

const READ_STATUS_2 = 0x35;
const READ_UNIQUE_ID = 0x4b;
const READ_JEDEC_ID = 0x9f;
const UNIQUE_ID_DUMMIES = 4;
const QUAD_ENABLED = 2;
const JEDEC_ID = [0xef, 0x40, 0x15]; // W25Q16

const SS_CTRL = 0x0c;
const OVERRIDE_LOW = 2;

class Ssi extends BasePeripheral {
  constructor(rp2040, chip) {
    super(rp2040, 'SSI');
    this.chip = chip;
    this.registers = new Map();
  }

  readUint32(offset) {
    offset &= 0xfff;
    const { chip } = this;
    if (offset >= SSI_DR0 && offset <= SSI_DR_END) return chip.read();
    switch (offset) {
      case SSI_SR:
        return SR_TX_NOT_FULL | SR_TX_EMPTY | (chip.answers.length ? SR_RX_NOT_EMPTY : 0);
      case SSI_TXFLR:
        return 0;
      case SSI_RXFLR:
        return chip.answers.length;
      case SSI_IDR:
        return 0x51535049;
      case SSI_VERSION_ID:
        return 0x3430312a;
      default:
        return this.registers.get(offset) ?? 0;
    }
  }

  writeUint32(offset, value) {
    if (offset >= SSI_DR0 && offset <= SSI_DR_END) this.chip.write(value & 0xff);
    else this.registers.set(offset, value);
  }
}

class QspiPins extends BasePeripheral {
  constructor(rp2040, chip) {
    super(rp2040, 'IO_QSPI');
    this.chip = chip;
    this.registers = new Map();
  }

  readUint32(offset) {
    return this.registers.get(offset & 0xfff) ?? 0;
  }

  writeUint32(offset, value) {
    this.registers.set(offset, value);
    if (offset === SS_CTRL) this.chip.select(((value >>> 8) & 3) === OVERRIDE_LOW);
  }
}

export class FlashChip {
  /** @param {Uint8Array} unique_id 8 bytes */
  constructor(rp2040, unique_id) {
    this.unique_id = unique_id;
    this.selected = false;
    this.sent = [];
    this.answers = [];
    rp2040.peripherals[0x18000] = new Ssi(rp2040, this);
    rp2040.peripherals[0x40018] = new QspiPins(rp2040, this);
  }

  select(selected) {
    this.selected = selected;
    this.sent = [];
    this.answers = [];
  }

  /** A byte goes to the chip, and one comes back. */
  write(byte) {
    this.answers.push(this.answer(this.sent[0] ?? byte, this.sent.length));
    this.sent.push(byte);
    if (this.answers.length > 64) this.answers.shift(); // nobody reads them: no command at all
  }

  answer(command, at) {
    switch (command) {
      case READ_UNIQUE_ID:
        return this.unique_id[at - 1 - UNIQUE_ID_DUMMIES] ?? 0;
      case READ_JEDEC_ID:
        return JEDEC_ID[at - 1] ?? 0;
      case READ_STATUS_2:
        return at ? QUAD_ENABLED : 0;
      default:
        return 0;
    }
  }

  read() {
    const byte = this.answers.shift() ?? 0;
    // without a forced chip select the command ends when all is read
    if (!this.selected && this.answers.length === 0) this.sent = [];
    return byte;
  }
}
