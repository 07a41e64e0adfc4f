/** Exceptions and SysTick, to the cycle, by small programs in RAM whose steps are looked at. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Board } from './board.mjs';
import { ENTRY_CYCLES, RETURN_CYCLES, TAIL_CHAIN_CYCLES } from './exceptions.mjs';

const RAM = 0x20000000;
const VECTORS = RAM + 0x100;
const MAIN = RAM + 0x200;
const HANDLERS = RAM + 0x300; // 16 bytes each
const STACK = RAM + 0x2000;
const [NOP, BX_LR, LOOP, WFI, CPSID, CPSIE] = [0xbf00, 0x4770, 0xe7fe, 0xbf30, 0xb672, 0xb662];
const [ISPR, ICPR, ISER, IPR, SHPR3] = [0xe000e200, 0xe000e280, 0xe000e100, 0xe000e400, 0xe000ed20];
const [SYST_CSR, SYST_RVR, SYST_CVR] = [0xe000e010, 0xe000e014, 0xe000e018];

/** A board whose processor executes `main`, and for each exception `NOP, BX LR` or what is given. */
function build(main, handlers = {}) {
  const board = new Board({ program: [{ address: RAM, bytes: Uint8Array.of(0xfe, 0xe7) }] });
  const { mcu } = board;
  const { core } = mcu;
  const put = (address, codes) => codes.forEach((op, i) => mcu.writeUint16(address + 2 * i, op));
  for (let n = 2; n < 48; n++) {
    put(HANDLERS + 16 * n, handlers[n] ?? [NOP, BX_LR]);
    mcu.writeUint32(VECTORS + 4 * n, HANDLERS + 16 * n + 1);
  }
  put(MAIN, main);
  core.VTOR = VECTORS;
  core.SP = STACK;
  core.PC = MAIN;
  /** [cycle, address] of each instruction that was executed. */
  const steps = [];
  let entered = false;
  const enter = core.exceptionEntry.bind(core);
  core.exceptionEntry = (n) => {
    entered = true;
    enter(n);
  };
  const execute = core.executeInstruction.bind(core);
  core.executeInstruction = () => {
    const step = [board.cycle, core.PC & ~1];
    const leaves = core.owed_cycles !== 0;
    entered = false;
    const cycles = execute();
    // entering and leaving a handler is no instruction
    if (!leaves && !entered) steps.push(step);
    return cycles;
  };
  const at = (cycle, action) => board.fabric.at(cycle, action);
  const begins = (n) => steps.filter(([, pc]) => pc === HANDLERS + 16 * n).map(([cycle]) => cycle);
  return { board, mcu, core, steps, at, begins };
}

const bit = (line) => (1 << line) >>> 0;

test('a handler begins 15 cycles after its interrupt, and 16 after its last instruction began', () => {
  const { board, mcu, steps, at, begins } = build([LOOP]);
  mcu.writeUint32(ISER, bit(13));
  board.run(100);
  at(200, () => mcu.setInterrupt(13, true));
  at(206, () => mcu.setInterrupt(13, false));
  board.run(400);
  const [began] = begins(16 + 13);
  // a loop of two cycles: the instruction that is being executed comes to its end
  assert.ok(began - 200 === ENTRY_CYCLES || began - 200 === ENTRY_CYCLES + 1, `${began}`);
  const i = steps.findIndex(([cycle]) => cycle === began);
  assert.deepEqual(steps[i + 1], [began + 1, HANDLERS + 16 * 29 + 2]); // BX LR
  assert.deepEqual(steps[i + 2], [began + 1 + RETURN_CYCLES, MAIN]);
  assert.equal(ENTRY_CYCLES, 15);
  assert.equal(RETURN_CYCLES, 16);
});

test('the next handler follows without the stack; the lower line is first, then the higher', () => {
  const { board, mcu, begins } = build([LOOP]);
  mcu.writeUint32(ISER, bit(26) | bit(27));
  mcu.writeUint32(ISPR, bit(26) | bit(27));
  board.run(200);
  const [first, second] = [begins(42), begins(43)];
  assert.equal(first.length, 1);
  // NOP, BX LR with its jump, then the next one's vector
  assert.deepEqual(second, [first[0] + 1 + 2 + TAIL_CHAIN_CYCLES]);
});

test('a more urgent one comes into a handler, one as urgent waits', () => {
  for (const [priority, nested] of [
    [0, true],
    [1, false],
  ]) {
    const { board, mcu, steps, at } = build([LOOP], { 42: [NOP, NOP, NOP, NOP, NOP, NOP, BX_LR] });
    mcu.writeUint32(IPR + 4 * 6, (1 << 22) | (priority << 30)); // lines 26 and 27
    mcu.writeUint32(ISER, bit(26) | bit(27));
    mcu.writeUint32(ISPR, bit(26));
    at(20, () => mcu.writeUint32(ISPR, bit(27)));
    board.run(200);
    const where = steps.map(([, pc]) => pc);
    const [inner, end] = [where.indexOf(HANDLERS + 16 * 43), where.indexOf(HANDLERS + 16 * 42 + 12)];
    assert.ok(inner > 0 && end > 0);
    assert.equal(inner < end, nested);
  }
});

test('what software pends on a line of a device is taken once', () => {
  for (const line of [0, 13, 25, 26, 31]) {
    const { board, mcu, begins } = build([LOOP]);
    mcu.writeUint32(ISER, bit(line));
    mcu.writeUint32(ISPR, bit(line));
    board.run(1000);
    assert.equal(begins(16 + line).length, 1, `line ${line}`);
  }
});

test('what is pending can be taken back, but not from a device that still asks', () => {
  const { board, mcu, core, begins } = build([LOOP]);
  mcu.writeUint32(ISPR, bit(5));
  mcu.writeUint32(ICPR, bit(5));
  assert.equal(core.pendingInterrupts & bit(5), 0);
  mcu.setInterrupt(7, true);
  mcu.writeUint32(ICPR, bit(7));
  mcu.writeUint32(ISER, bit(5) | bit(7));
  board.run(30);
  assert.equal(begins(21).length, 0);
  assert.ok(begins(23).length > 0);
});

test('a line that stays up calls its handler again, one that fell meanwhile does not', () => {
  const { board, mcu, at, begins } = build([LOOP]);
  mcu.writeUint32(ISER, bit(13));
  at(100, () => mcu.setInterrupt(13, true));
  at(300, () => mcu.setInterrupt(13, false));
  board.run(2000);
  const count = begins(29).length;
  // NOP, BX LR and the way to the next one: 10 cycles each
  assert.ok(count >= 18 && count <= 21, `${count}`);
});

test('a pulse on a masked line stays pending', () => {
  const masked = build([CPSID, ...Array(40).fill(NOP), CPSIE, LOOP]);
  masked.mcu.writeUint32(ISER, bit(9));
  masked.at(10, () => masked.mcu.setInterrupt(9, true));
  masked.at(12, () => masked.mcu.setInterrupt(9, false));
  masked.board.run(300);
  assert.deepEqual(masked.begins(25), [1 + 40 + 1 + ENTRY_CYCLES]);
});

test('a masked interrupt ends WFI, and its handler comes when the mask goes', () => {
  const { board, mcu, core, at, steps, begins } = build([CPSID, WFI, NOP, NOP, NOP, CPSIE, LOOP]);
  mcu.writeUint32(ISER, bit(9));
  at(50, () => mcu.setInterrupt(9, true));
  at(90, () => mcu.setInterrupt(9, false));
  board.run(45);
  assert.ok(core.waiting);
  board.run(300);
  const woke = steps.find(([, pc]) => pc === MAIN + 4)[0];
  assert.equal(woke, 50);
  assert.equal(begins(25)[0], 50 + 3 + 1 + ENTRY_CYCLES);
});

test('SysTick comes every RVR + 1 cycles, the first time a load later', () => {
  const { board, mcu, core, begins } = build([LOOP]);
  const ticks = [];
  const entry = core.exceptionEntry.bind(core);
  core.exceptionEntry = (n) => {
    ticks.push([n, board.cycle]);
    entry(n);
  };
  mcu.writeUint32(SHPR3, 0xc0000000);
  mcu.writeUint32(SYST_RVR, 1249);
  mcu.writeUint32(SYST_CVR, 0);
  mcu.writeUint32(SYST_CSR, 7);
  board.run(1249);
  assert.equal(mcu.readUint32(SYST_CVR), 1);
  board.run(1250);
  assert.equal(mcu.readUint32(SYST_CVR), 0);
  board.run(1252);
  assert.equal(mcu.readUint32(SYST_CVR), 1248);
  board.run(100_000);
  assert.equal(begins(15).length, 79);
  assert.ok(ticks.every(([n]) => n === 15));
  // taken between two instructions of a loop of two cycles
  ticks.forEach(([, cycle], i) => assert.ok([0, 1].includes(cycle - 1250 * (i + 1)), `${cycle}`));
  const counted = mcu.readUint32(SYST_CSR);
  assert.equal(counted, 0x10007);
  assert.equal(mcu.readUint32(SYST_CSR), 7);
});

test('SysTick is held while it is off, and can count microseconds', () => {
  const { board, mcu } = build([LOOP]);
  mcu.writeUint32(SYST_RVR, 99);
  mcu.writeUint32(SYST_CVR, 0);
  mcu.writeUint32(SYST_CSR, 5);
  board.run(31);
  mcu.writeUint32(SYST_CSR, 4);
  const held = mcu.readUint32(SYST_CVR);
  assert.equal(held, 100 - 31);
  board.run(500);
  assert.equal(mcu.readUint32(SYST_CVR), held);
  mcu.writeUint32(SYST_CSR, 1); // the reference: 125 cycles at 125 MHz
  board.run(500 + 125 * 10);
  assert.equal(mcu.readUint32(SYST_CVR), held - 10);
});
