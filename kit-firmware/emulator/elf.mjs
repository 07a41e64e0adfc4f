/** What of a program for the processor goes into memory. */

const MAGIC = 0x464c457f;
const ARM = 40;
const LOAD = 1;

/** @typedef {{address: number, bytes: Uint8Array}} Segment */

/**
 * The segments of an ELF file for a 32-bit Arm, where they are stored. Throws for any other file.
 * @param {Buffer} file
 * @returns {Segment[]}
 */
export function segmentsOf(file) {
  if (file.length < 52 || file.readUInt32LE(0) !== MAGIC || file.readUInt16LE(18) !== ARM) {
    throw new Error('it is no ELF file for a 32-bit Arm');
  }
  const [table, size, count] = [
    file.readUInt32LE(28),
    file.readUInt16LE(42),
    file.readUInt16LE(44),
  ];
  const segments = [];
  for (let at = table; at < table + size * count; at += size) {
    const [offset, address, length] = [4, 12, 16].map((field) => file.readUInt32LE(at + field));
    if (file.readUInt32LE(at) !== LOAD || length === 0) continue;
    if (offset + length > file.length) throw new Error('it is cut off');
    segments.push({ address, bytes: new Uint8Array(file.subarray(offset, offset + length)) });
  }
  return segments;
}
