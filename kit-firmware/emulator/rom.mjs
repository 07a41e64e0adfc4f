/**
 * A substitute for the RP2040's mask ROM.
 *
 * Nothing here comes from the real one: it is a lookup table, laid out as pico-sdk's headers
 * (boot/bootrom_constants.h, pico/bootrom/sf_table.h) describe it, whose every function is
 * `bkpt #n; bx lr`; the work is done here when rp2040js reports the breakpoint. A function takes
 * one cycle, whatever it does: erasing flash takes no time.
 */

const ROM_SIZE = 16 * 1024;
const CODE_START = 0x100;
const FLOAT_TABLE_SIZE = 0x80;
const BOOT_ROM_VERSION = 3;

const INT32_MIN = -2147483648;
const INT32_MAX = 2147483647;
const UINT32_MAX = 4294967295;
// the greatest doubles below 2^63 and 2^64
const INT64_MIN = -9223372036854775808;
const INT64_MAX = 9223372036854774784;
const UINT64_MAX = 18446744073709549568;

const code = (name) => name.charCodeAt(0) | (name.charCodeAt(1) << 8);

const float_words = new Uint32Array(1);
const floats = new Float32Array(float_words.buffer);
const double_words = new Uint32Array(2);
const doubles = new Float64Array(double_words.buffer);

const toFloat = (word) => {
  float_words[0] = word;
  return floats[0];
};
const fromFloat = (value) => {
  floats[0] = value;
  return float_words[0];
};
const toDouble = (low, high) => {
  double_words[0] = low;
  double_words[1] = high;
  return doubles[0];
};

/** Not a number becomes 0, as on the chip. */
const clamp = (value, least, most) =>
  Number.isNaN(value) ? 0 : Math.min(Math.max(value, least), most);

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const int64 = (low, high) => Number(BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)));
const uint64 = (low, high) => Number((BigInt(high) << 32n) | BigInt(low));

/** A function whose result is in the first register. */
const resultIn = (r) => (compute) => () => {
  r[0] = compute();
};

/** The functions of the two-letter table. */
function systemFunctions(mcu, r) {
  const result = resultIn(r);
  return {
    P3: () => {
      let bits = 0;
      for (let word = r[0]; word; word &= word - 1) bits++;
      r[0] = bits;
    },
    L3: result(() => Math.clz32(r[0])),
    T3: result(() => (r[0] ? 31 - Math.clz32(r[0] & -r[0]) : 32)),
    R3: () => {
      let word = r[0];
      let reversed = 0;
      for (let i = 0; i < 32; i++) {
        reversed = (reversed << 1) | (word & 1);
        word >>>= 1;
      }
      r[0] = reversed >>> 0;
    },
    MS: () => {
      for (let i = 0; i < r[2]; i++) mcu.writeUint8(r[0] + i, r[1] & 0xff);
    },
    S4: () => {
      const word = ((r[1] & 0xff) * 0x01010101) >>> 0;
      for (let i = 0; i < r[2]; i += 4) mcu.writeUint32(r[0] + i, word);
    },
    MC: () => {
      for (let i = 0; i < r[2]; i++) mcu.writeUint8(r[0] + i, mcu.readUint8(r[1] + i));
    },
    C4: () => {
      for (let i = 0; i < r[2]; i += 4) mcu.writeUint32(r[0] + i, mcu.readUint32(r[1] + i));
    },
    UB: () => {
      throw new Error('the firmware asks for the USB boot loader, which is not emulated');
    },
    // flash: connect, leave and enter execution in place, flush the cache
    IF: () => {},
    EX: () => {},
    FC: () => {},
    CX: () => {},
    // erase (offset, count), program (offset, data, count)
    RE: () => {
      mcu.flash.fill(0xff, r[0], r[0] + r[1]);
      mcu.onFlashChange(r[0], r[1]);
    },
    RP: () => {
      for (let i = 0; i < r[2]; i++) mcu.flash[r[0] + i] &= mcu.readUint8(r[1] + i);
      mcu.onFlashChange(r[0], r[2]);
    },
  };
}

/** The table of single precision functions: byte offset -> function (RP2040 datasheet, 2.8.3). */
function floatFunctions(core, r) {
  const result = resultIn(r);
  const binary = (operation) => result(() => fromFloat(operation(toFloat(r[0]), toFloat(r[1]))));
  const unary = (operation) => result(() => fromFloat(operation(toFloat(r[0]))));
  const toInteger = (least, most, scale) =>
    result(() => clamp(Math.floor(toFloat(r[0]) * scale()), least, most));
  const once = () => 1;
  const up = () => 2 ** (r[1] | 0);
  const down = () => 2 ** -(r[1] | 0);
  const flags = () => {
    const a = toFloat(r[0]);
    const b = toFloat(r[1]);
    Object.assign(core, { N: a < b, Z: a === b, C: !(a < b), V: false });
  };
  return {
    0x00: binary((a, b) => a + b),
    0x04: binary((a, b) => a - b),
    0x08: binary((a, b) => a * b),
    0x0c: binary((a, b) => a / b),
    0x10: result(() => compare(toFloat(r[0]), toFloat(r[1]))),
    0x14: flags,
    0x18: unary(Math.sqrt),
    0x1c: toInteger(INT32_MIN, INT32_MAX, once),
    0x20: toInteger(INT32_MIN, INT32_MAX, up),
    0x24: toInteger(0, UINT32_MAX, once),
    0x28: toInteger(0, UINT32_MAX, up),
    0x2c: result(() => fromFloat(r[0] | 0)),
    0x30: result(() => fromFloat((r[0] | 0) * down())),
    0x34: result(() => fromFloat(r[0])),
    0x38: result(() => fromFloat(r[0] * down())),
    0x3c: unary(Math.cos),
    0x40: unary(Math.sin),
    0x44: unary(Math.tan),
    0x4c: unary(Math.exp),
    0x50: unary(Math.log),
    0x54: result(() => compare(toFloat(r[0]), toFloat(r[1]))),
    0x58: binary(Math.atan2),
    0x5c: result(() => fromFloat(int64(r[0], r[1]))),
    0x64: result(() => fromFloat(uint64(r[0], r[1]))),
    0x6c: () => setInteger64(r, clamp(Math.floor(toFloat(r[0])), INT64_MIN, INT64_MAX)),
    0x74: () => setInteger64(r, clamp(Math.floor(toFloat(r[0])), 0, UINT64_MAX)),
    0x7c: () => setDouble(r, toFloat(r[0])),
  };
}

/** The table of double precision functions. */
function doubleFunctions(r) {
  const result = resultIn(r);
  const first = () => toDouble(r[0], r[1]);
  const binary = (operation) => () => {
    const a = first();
    setDouble(r, operation(a, toDouble(r[2], r[3])));
  };
  return {
    0x00: binary((a, b) => a + b),
    0x04: binary((a, b) => a - b),
    0x08: binary((a, b) => a * b),
    0x0c: binary((a, b) => a / b),
    0x18: () => setDouble(r, Math.sqrt(first())),
    0x1c: result(() => clamp(Math.floor(first()), INT32_MIN, INT32_MAX)),
    0x24: result(() => clamp(Math.floor(first()), 0, UINT32_MAX)),
    0x2c: () => setDouble(r, r[0] | 0),
    0x34: () => setDouble(r, r[0]),
    0x5c: () => setDouble(r, int64(r[0], r[1])),
    0x64: () => setDouble(r, uint64(r[0], r[1])),
    0x6c: () => setInteger64(r, clamp(Math.floor(first()), INT64_MIN, INT64_MAX)),
    0x74: () => setInteger64(r, clamp(Math.floor(first()), 0, UINT64_MAX)),
    0x7c: result(() => fromFloat(first())),
  };
}

function setDouble(r, value) {
  doubles[0] = value;
  r[0] = double_words[0];
  r[1] = double_words[1];
}

function setInteger64(r, value) {
  const bits = BigInt.asUintN(64, BigInt(value));
  r[0] = Number(bits & 0xffffffffn);
  r[1] = Number(bits >> 32n);
}

/** Load the ROM into a chip and serve its functions. */
export function installRom(mcu) {
  const bytes = new Uint8Array(ROM_SIZE);
  const view = new DataView(bytes.buffer);
  const functions = [];
  const r = mcu.core.registers;
  let here = CODE_START;

  const place = (name, run) => {
    view.setUint16(here, 0xbe00 | functions.length, true); // bkpt #n
    view.setUint16(here + 2, 0x4770, true); // bx lr
    functions.push({ name, run });
    here += 4;
    return (here - 4) | 1;
  };
  const missing = (name) => () => {
    throw new Error(`the firmware calls ROM function ${name}, which is not emulated`);
  };

  const lookup = place('rom_table_lookup', () => {
    for (let at = r[0]; ; at += 4) {
      const name = view.getUint16(at, true);
      if (name === 0 || name === (r[1] & 0xffff)) {
        r[0] = name ? view.getUint16(at + 2, true) : 0;
        return;
      }
    }
  });
  const system = Object.entries(systemFunctions(mcu, r));
  const system_entries = system.map(([name, run]) => [code(name), place(name, run)]);
  const placeAll = (table, name) => {
    const addresses = [];
    for (let offset = 0; offset < FLOAT_TABLE_SIZE; offset += 4) {
      const label = `${name}+${offset}`;
      addresses.push(place(label, table[offset] ?? missing(label)));
    }
    return addresses;
  };
  const float_addresses = placeAll(floatFunctions(mcu.core, r), 'SF');
  const double_addresses = placeAll(doubleFunctions(r), 'SD');
  const reset = place('reset', missing('reset'));

  // a table of addresses, its length in the byte two before it
  const writeTable = (addresses) => {
    here += 4;
    bytes[here - 2] = addresses.length;
    const start = here;
    for (const address of addresses) {
      view.setUint32(here, address, true);
      here += 4;
    }
    return start;
  };
  const floats_at = writeTable(float_addresses);
  const doubles_at = writeTable(double_addresses);

  const writeEntries = (entries) => {
    const start = here;
    for (const [name, address] of entries) {
      view.setUint16(here, name, true);
      view.setUint16(here + 2, address, true);
      here += 4;
    }
    here += 4; // null terminated
    return start;
  };
  const text = new TextEncoder().encode("a substitute, not Raspberry Pi's ROM");
  const text_at = here;
  bytes.set(text, here);
  here += (text.length + 4) & ~3;
  const functions_at = writeEntries(system_entries);
  const data_at = writeEntries([
    [code('SF'), floats_at],
    [code('SD'), doubles_at],
    [code('CR'), text_at],
    [code('GR'), text_at],
  ]);

  view.setUint32(0, 0x20041f00, true); // initial stack pointer
  view.setUint32(4, reset, true);
  bytes.set([0x4d, 0x75, 0x01, BOOT_ROM_VERSION], 0x10);
  view.setUint16(0x14, functions_at, true);
  view.setUint16(0x16, data_at, true);
  view.setUint16(0x18, lookup, true);

  mcu.loadBootrom(new Uint32Array(bytes.buffer));
  mcu.onBreak = (number) => {
    const at = mcu.core.PC - 2;
    if (at >= ROM_SIZE || !functions[number]) {
      const place = `0x${at.toString(16)}, called from 0x${mcu.core.LR.toString(16)}`;
      throw new Error(`the firmware stopped at breakpoint ${number} at ${place}`);
    }
    functions[number].run();
  };
}
