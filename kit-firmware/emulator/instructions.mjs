/**
 * The instructions of ARMv6-M, one table: [name, mask, value, execute], in the words of the manual.
 *
 * `execute(c, op, pc)` is called with the core `c`, whose program counter is behind the halfword `op`
 * at `pc`, and returns how many cycles it takes. What stands in no row is left to rp2040js.
 */

const row = (name, mask, value, execute) => [name, mask, value, execute];

// operands: the registers that bits 0, 3, 6 and 8 name, and any of 16 from bit 3 on
const d = (c, op) => c.registers[op & 7];
const n = (c, op) => c.registers[(op >>> 3) & 7];
const m = (c, op) => c.registers[(op >>> 6) & 7];
const t = (c, op) => c.registers[(op >>> 8) & 7];
const any = (c, op) => c.registers[(op >>> 3) & 15];
const imm5 = (op) => (op >>> 6) & 31;
const imm8 = (op) => op & 255;
const words = (op) => (op & 255) << 2;
const stack = (c, op) => c.registers[13] + words(op);
const carry = (c) => (c.C ? 1 : 0);

// results, with the cycles that they take: with flags, without, and without any register
const put = (c, to, value) => {
  c.registers[to] = value;
  return 1;
};
const putNZ = (c, to, value) => {
  c.registers[to] = value;
  return flags(c, value);
};
const flags = (c, value) => {
  c.setNZ(value);
  return 1;
};
const compare = (c, a, b) => {
  c.subtract(a, b);
  return 1;
};
const shiftImm = (c, op, value, out) => {
  c.C = (out & 1) === 1;
  return putNZ(c, op & 7, value);
};
const shiftReg = (c, op, by, value, out) =>
  put(c, op & 7, c.shift(d(c, op), by, value, out));
const putHigh = (c, op, value) => {
  const target = (op & 7) | ((op >>> 4) & 8);
  if (target === 15) {
    c.registers[15] = value & ~1;
    return 2;
  }
  return put(c, target, target === 13 ? value & ~3 : value);
};
const high = (c, op, pc) => (((op >>> 3) & 15) === 15 ? pc + 4 : any(c, op));

const store32 = (c, address, value) => {
  c.writeUint32(address, value);
  return 1 + c.extraCycles(address, true);
};
const store16 = (c, address, value) => {
  c.writeUint16(address, value);
  return 1 + c.extraCycles(address, true);
};
const store8 = (c, address, value) => {
  c.writeUint8(address, value);
  return 1 + c.extraCycles(address, true);
};
const load32 = (c, to, address) => {
  c.registers[to] = c.readUint32(address);
  return 1 + c.extraCycles(address, false);
};
const load16 = (c, to, address, signs = 0) => {
  c.registers[to] = (c.readUint16(address) << signs) >> signs;
  return 1 + c.extraCycles(address, false);
};
const load8 = (c, to, address, signs = 0) => {
  c.registers[to] = (c.readUint8(address) << signs) >> signs;
  return 1 + c.extraCycles(address, false);
};

export const INSTRUCTIONS = [
  row('LSL_IMM', 0xf800, 0x0000, (c, op) => {
    const by = imm5(op);
    if (by) c.C = ((n(c, op) >>> (32 - by)) & 1) === 1;
    return putNZ(c, op & 7, n(c, op) << by);
  }),
  row('LSR_IMM', 0xf800, 0x0800, (c, op) => {
    const by = imm5(op);
    const value = n(c, op);
    return shiftImm(c, op, by ? value >>> by : 0, value >>> ((by || 32) - 1));
  }),
  row('ASR_IMM', 0xf800, 0x1000, (c, op) => {
    const by = imm5(op) || 32;
    const value = n(c, op);
    return shiftImm(c, op, value >> Math.min(by, 31), value >> (by - 1));
  }),
  row('ADD_REG', 0xfe00, 0x1800, (c, op) => put(c, op & 7, c.addWithCarry(n(c, op), m(c, op), 0))),
  row('SUB_REG', 0xfe00, 0x1a00, (c, op) => put(c, op & 7, c.subtract(n(c, op), m(c, op)))),
  row('ADD_IMM3', 0xfe00, 0x1c00, (c, op) =>
    put(c, op & 7, c.addWithCarry(n(c, op), (op >>> 6) & 7, 0)),
  ),
  row('SUB_IMM3', 0xfe00, 0x1e00, (c, op) => put(c, op & 7, c.subtract(n(c, op), (op >>> 6) & 7))),
  row('MOV_IMM', 0xf800, 0x2000, (c, op) => putNZ(c, (op >>> 8) & 7, imm8(op))),
  row('CMP_IMM', 0xf800, 0x2800, (c, op) => compare(c, t(c, op), imm8(op))),
  row('ADD_IMM8', 0xf800, 0x3000, (c, op) =>
    put(c, (op >>> 8) & 7, c.addWithCarry(t(c, op), imm8(op), 0)),
  ),
  row('SUB_IMM8', 0xf800, 0x3800, (c, op) =>
    put(c, (op >>> 8) & 7, c.subtract(t(c, op), imm8(op))),
  ),
  row('AND', 0xffc0, 0x4000, (c, op) => putNZ(c, op & 7, d(c, op) & n(c, op))),
  row('EOR', 0xffc0, 0x4040, (c, op) => putNZ(c, op & 7, d(c, op) ^ n(c, op))),
  row('LSL_REG', 0xffc0, 0x4080, (c, op) => {
    const by = n(c, op) & 255;
    const value = d(c, op);
    const out = by <= 32 && ((value >>> (32 - by)) & 1) === 1;
    return shiftReg(c, op, by, by < 32 ? value << by : 0, out);
  }),
  row('LSR_REG', 0xffc0, 0x40c0, (c, op) => {
    const by = n(c, op) & 255;
    const value = d(c, op);
    const out = by <= 32 && ((value >>> (by - 1)) & 1) === 1;
    return shiftReg(c, op, by, by < 32 ? value >>> by : 0, out);
  }),
  row('ASR_REG', 0xffc0, 0x4100, (c, op) => {
    const by = n(c, op) & 255;
    const value = d(c, op);
    const out = ((value >> (Math.min(by, 32) - 1)) & 1) === 1;
    return shiftReg(c, op, by, value >> Math.min(by, 31), out);
  }),
  row('ADC', 0xffc0, 0x4140, (c, op) =>
    put(c, op & 7, c.addWithCarry(d(c, op), n(c, op), carry(c))),
  ),
  row('SBC', 0xffc0, 0x4180, (c, op) =>
    put(c, op & 7, c.addWithCarry(d(c, op), ~n(c, op) >>> 0, carry(c))),
  ),
  row('ROR', 0xffc0, 0x41c0, (c, op) => {
    const by = n(c, op) & 255;
    const value = d(c, op);
    const low = by & 31;
    const result = low ? (value >>> low) | (value << (32 - low)) : value;
    return shiftReg(c, op, by, result, (result & 0x80000000) !== 0);
  }),
  row('TST', 0xffc0, 0x4200, (c, op) => flags(c, d(c, op) & n(c, op))),
  row('RSB', 0xffc0, 0x4240, (c, op) => put(c, op & 7, c.subtract(0, n(c, op)))),
  row('CMP_REG', 0xffc0, 0x4280, (c, op) => compare(c, d(c, op), n(c, op))),
  row('ORR', 0xffc0, 0x4300, (c, op) => putNZ(c, op & 7, d(c, op) | n(c, op))),
  row('MUL', 0xffc0, 0x4340, (c, op) => putNZ(c, op & 7, Math.imul(d(c, op), n(c, op)))),
  row('BIC', 0xffc0, 0x4380, (c, op) => putNZ(c, op & 7, d(c, op) & ~n(c, op))),
  row('MVN', 0xffc0, 0x43c0, (c, op) => putNZ(c, op & 7, ~n(c, op))),
  row('ADD_HIGH', 0xff00, 0x4400, (c, op, pc) => {
    const target = (op & 7) | ((op >>> 4) & 8);
    const value = target === 15 ? pc + 4 : c.registers[target];
    return putHigh(c, op, high(c, op, pc) + value);
  }),
  row('CMP_HIGH', 0xff00, 0x4500, (c, op) =>
    compare(c, c.registers[(op & 7) | ((op >>> 4) & 8)], any(c, op)),
  ),
  row('MOV_HIGH', 0xff00, 0x4600, (c, op, pc) => putHigh(c, op, high(c, op, pc))),
  row('BX', 0xff87, 0x4700, (c, op) => {
    c.BXWritePC(any(c, op));
    return 2;
  }),
  row('BLX', 0xff87, 0x4780, (c, op, pc) => {
    const target = any(c, op) & ~1;
    c.registers[14] = (pc + 2) | 1;
    c.registers[15] = target;
    return 2;
  }),
  row('LDR_LITERAL', 0xf800, 0x4800, (c, op, pc) => {
    const address = (((pc + 4) & ~3) >>> 0) + words(op);
    c.registers[(op >>> 8) & 7] = c.readUint32(address);
    return 2;
  }),
  row('STR_REG', 0xfe00, 0x5000, (c, op) => store32(c, n(c, op) + m(c, op), d(c, op))),
  row('STRH_REG', 0xfe00, 0x5200, (c, op) => store16(c, n(c, op) + m(c, op), d(c, op))),
  row('STRB_REG', 0xfe00, 0x5400, (c, op) => store8(c, n(c, op) + m(c, op), d(c, op))),
  row('LDRSB', 0xfe00, 0x5600, (c, op) => load8(c, op & 7, n(c, op) + m(c, op), 24)),
  row('LDR_REG', 0xfe00, 0x5800, (c, op) => load32(c, op & 7, n(c, op) + m(c, op))),
  row('LDRH_REG', 0xfe00, 0x5a00, (c, op) => load16(c, op & 7, n(c, op) + m(c, op))),
  row('LDRB_REG', 0xfe00, 0x5c00, (c, op) => load8(c, op & 7, n(c, op) + m(c, op))),
  row('LDRSH', 0xfe00, 0x5e00, (c, op) => load16(c, op & 7, n(c, op) + m(c, op), 16)),
  row('STR_IMM', 0xf800, 0x6000, (c, op) => store32(c, n(c, op) + ((op >>> 4) & 0x7c), d(c, op))),
  row('LDR_IMM', 0xf800, 0x6800, (c, op) => load32(c, op & 7, n(c, op) + ((op >>> 4) & 0x7c))),
  row('STRB_IMM', 0xf800, 0x7000, (c, op) => store8(c, n(c, op) + imm5(op), d(c, op))),
  row('LDRB_IMM', 0xf800, 0x7800, (c, op) => load8(c, op & 7, n(c, op) + imm5(op))),
  row('STRH_IMM', 0xf800, 0x8000, (c, op) => store16(c, n(c, op) + ((op >>> 5) & 0x3e), d(c, op))),
  row('LDRH_IMM', 0xf800, 0x8800, (c, op) => load16(c, op & 7, n(c, op) + ((op >>> 5) & 0x3e))),
  row('STR_SP', 0xf800, 0x9000, (c, op) => store32(c, stack(c, op), t(c, op))),
  row('LDR_SP', 0xf800, 0x9800, (c, op) => load32(c, (op >>> 8) & 7, stack(c, op))),
  row('ADR', 0xf800, 0xa000, (c, op, pc) => put(c, (op >>> 8) & 7, ((pc + 4) & ~3) + words(op))),
  row('ADD_SP', 0xf800, 0xa800, (c, op) => put(c, (op >>> 8) & 7, stack(c, op))),
  row('SP_PLUS', 0xff80, 0xb000, (c, op) => put(c, 13, c.registers[13] + ((op & 127) << 2))),
  row('SP_MINUS', 0xff80, 0xb080, (c, op) => put(c, 13, c.registers[13] - ((op & 127) << 2))),
  row('SXTH', 0xffc0, 0xb200, (c, op) => put(c, op & 7, (n(c, op) << 16) >> 16)),
  row('SXTB', 0xffc0, 0xb240, (c, op) => put(c, op & 7, (n(c, op) << 24) >> 24)),
  row('UXTH', 0xffc0, 0xb280, (c, op) => put(c, op & 7, n(c, op) & 0xffff)),
  row('UXTB', 0xffc0, 0xb2c0, (c, op) => put(c, op & 7, n(c, op) & 0xff)),
  row('PUSH', 0xfe00, 0xb400, (c, op) => {
    const r = c.registers;
    let address = r[13];
    let cycles = 1;
    if (op & 0x100) {
      address -= 4;
      c.writeUint32(address, r[14]);
    }
    for (let i = 7; i >= 0; i--) {
      if (op & (1 << i)) {
        address -= 4;
        c.writeUint32(address, r[i]);
        cycles++;
      }
    }
    r[13] = address;
    return cycles;
  }),
  row('POP', 0xfe00, 0xbc00, (c, op) => {
    const r = c.registers;
    let address = r[13];
    let cycles = 1;
    for (let i = 0; i < 8; i++) {
      if (op & (1 << i)) {
        r[i] = c.readUint32(address);
        address += 4;
        cycles++;
      }
    }
    if (op & 0x100) {
      r[13] = address + 4;
      c.BXWritePC(c.readUint32(address));
      return cycles + 2;
    }
    r[13] = address;
    return cycles;
  }),
  row('SEV', 0xffff, 0xbf40, (c) => {
    c.eventRegistered = true;
    return 1;
  }),
  row('STM', 0xf800, 0xc000, (c, op) => {
    const r = c.registers;
    const base = (op >>> 8) & 7;
    let address = r[base];
    let cycles = 1;
    for (let i = 0; i < 8; i++) {
      if (op & (1 << i)) {
        c.writeUint32(address, r[i]);
        address += 4;
        cycles++;
      }
    }
    r[base] = address;
    return cycles;
  }),
  row('LDM', 0xf800, 0xc800, (c, op) => {
    const r = c.registers;
    const base = (op >>> 8) & 7;
    let address = r[base];
    let cycles = 1;
    for (let i = 0; i < 8; i++) {
      if (op & (1 << i)) {
        r[i] = c.readUint32(address);
        address += 4;
        cycles++;
      }
    }
    if (!(op & (1 << base))) r[base] = address;
    return cycles;
  }),
  row('B_EQ', 0xff00, 0xd000, (c, op) => c.branchIf(c.Z, op)),
  row('B_NE', 0xff00, 0xd100, (c, op) => c.branchIf(!c.Z, op)),
  row('B_CS', 0xff00, 0xd200, (c, op) => c.branchIf(c.C, op)),
  row('B_CC', 0xff00, 0xd300, (c, op) => c.branchIf(!c.C, op)),
  row('B_MI', 0xff00, 0xd400, (c, op) => c.branchIf(c.N, op)),
  row('B_PL', 0xff00, 0xd500, (c, op) => c.branchIf(!c.N, op)),
  row('B_VS', 0xff00, 0xd600, (c, op) => c.branchIf(c.V, op)),
  row('B_VC', 0xff00, 0xd700, (c, op) => c.branchIf(!c.V, op)),
  row('B_HI', 0xff00, 0xd800, (c, op) => c.branchIf(c.C && !c.Z, op)),
  row('B_LS', 0xff00, 0xd900, (c, op) => c.branchIf(!c.C || c.Z, op)),
  row('B_GE', 0xff00, 0xda00, (c, op) => c.branchIf(c.N === c.V, op)),
  row('B_LT', 0xff00, 0xdb00, (c, op) => c.branchIf(c.N !== c.V, op)),
  row('B_GT', 0xff00, 0xdc00, (c, op) => c.branchIf(!c.Z && c.N === c.V, op)),
  row('B_LE', 0xff00, 0xdd00, (c, op) => c.branchIf(c.Z || c.N !== c.V, op)),
  row('B', 0xf800, 0xe000, (c, op) => c.branch((op << 21) >> 20)),
  row('BL', 0xf800, 0xf000, (c, op, pc) => {
    const r = c.registers;
    const second = c.readUint16(pc + 2);
    if ((second & 0xd000) !== 0xd000) {
      // another wide instruction
      r[15] = pc;
      return c.executeRare();
    }
    const sign = (op >>> 10) & 1;
    const i1 = 1 - (sign ^ ((second >>> 13) & 1));
    const i2 = 1 - (sign ^ ((second >>> 11) & 1));
    const high = (sign ? 0xff000000 : 0) | (i1 << 23) | (i2 << 22) | 0;
    const offset = high | ((op & 0x3ff) << 12) | ((second & 0x7ff) << 1);
    r[14] = (pc + 4) | 1;
    r[15] = pc + 4 + offset;
    return 3;
  }),
];
