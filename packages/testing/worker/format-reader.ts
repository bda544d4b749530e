// A reader of the commit log written from docs/commit-log-format.md alone: it takes the offsets and types
// of fields from the tables there. It shows that the document is enough to read the files.

import { readFileSync } from 'node:fs';
import { referenceXxh32 } from './reference-xxh32.ts';

const text = readFileSync(new URL('../../../docs/commit-log-format.md', import.meta.url), 'utf8');

type FieldType = 'u8' | 'u16' | 'u32' | 'f64' | '';
type Table = Readonly<Record<string, { readonly offset: number; readonly type: FieldType }>>;

/** The tables of offsets in the document, which are its blocks of code, in order. */
const tables: readonly Table[] = [...text.matchAll(/^```\n(.*?)^```/gms)].map(([, block]) => {
  const rows = block!.matchAll(/^ ?(\d+) {2}(u8|u16|u32|f64)? *(\w+)/gm);
  return Object.fromEntries(
    [...rows].map(([, offset, type = '', name]) => [
      name!,
      { offset: Number(offset), type: type as FieldType },
    ]),
  );
});
const [segment, index, recordTable, annotation, entryTable, range, deltaTable, marker, slotTable] =
  tables as [Table, Table, Table, Table, Table, Table, Table, Table, Table];
export const tableCount = tables.length;

const PAGE_BYTES = 4096;
const SEGMENT_HEADER_BYTES = 4096;
const CONTINUES = 1;
const MARKER = 4;
const FRESH = 1 << 16;
const ANNOTATED = 16;
const GONE = 1 << 17;
const DELTA = 1 << 18;

type Fields = Readonly<Record<string, number>>;

/** Every number of a table, read from `bytes` where the structure begins. */
function fields(table: Table, bytes: Uint8Array, start: number): Fields {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const found: Record<string, number> = {};
  for (const [name, { offset, type }] of Object.entries(table)) {
    const at = start + offset;
    if (type === 'u8') found[name] = view.getUint8(at);
    else if (type === 'u16') found[name] = view.getUint16(at, true);
    else if (type === 'u32') found[name] = view.getUint32(at, true);
    else if (type === 'f64') found[name] = view.getFloat64(at, true);
  }
  return found;
}

function check(fact: boolean, what: string): void {
  if (!fact) throw new Error(`format: ${what}`);
}

/** The checksum of a range of bytes, as the document defines it. */
function sumOf(bytes: Uint8Array, salt: number): number {
  const upper = referenceXxh32(bytes, (salt ^ 0x6a09e667) >>> 0) & 0x1fffff;
  return upper * 2 ** 32 + referenceXxh32(bytes, salt);
}

function pageSum(page: Uint8Array, pageIndex: number, salt: number): number {
  return referenceXxh32(page, (salt ^ Math.imul(pageIndex + 1, 0x27d4eb2f)) >>> 0);
}

/** The newest slot of a checkpoint file. */
export function readSlot(bytes: Uint8Array): Fields {
  const slots = [0, 512]
    .filter((at) => bytes.length >= at + 88)
    .map((at) => ({ at, slot: fields(slotTable, bytes, at) }))
    .filter(({ slot }) => slot.magic === 0x434c4350);
  for (const { at, slot } of slots) {
    check(slot.version === 4, 'version of a slot');
    check(slot.sum === sumOf(bytes.subarray(at + 8, at + 88), 0x434c4350), 'sum of a slot');
  }
  const newest = slots.sort((a, b) => a.slot.generation! - b.slot.generation!).at(-1);
  check(newest !== undefined, 'a slot');
  return newest!.slot;
}

/** Checks the pages of the main file against the table of sums behind the slots. */
export function checkMain(main: Uint8Array, checkpoint: Uint8Array): void {
  const { pageCount, salt } = readSlot(checkpoint);
  const view = new DataView(checkpoint.buffer, checkpoint.byteOffset);
  check(main.length === pageCount! * PAGE_BYTES, 'pages of the main file');
  for (let i = 0; i < pageCount!; i++) {
    const page = main.subarray(i * PAGE_BYTES, (i + 1) * PAGE_BYTES);
    check(pageSum(page, i, salt!) === view.getUint32(4096 + i * 4, true), `sum of page ${i}`);
  }
}

/** The content of consecutive segments, from the object's first commit on. */
export interface Read {
  readonly image: Uint8Array;
  /** How many of each kind were read. */
  readonly seen: Readonly<
    Record<'records' | 'parts' | 'markers' | 'fresh' | 'gone' | 'deltas' | 'index', number>
  >;
  readonly restoreTarget: number;
  readonly sequence: number;
  /** The number of the kind and the texts of each annotation. */
  readonly authors: readonly string[];
  /** Every position between two commits, with the fields of a slot. */
  readonly places: readonly Fields[];
}

/** Replays the whole history, forwards and checked: the database after the last commit. */
export function readLog(segments: readonly Uint8Array[], salt: number): Read {
  const pages = new Map<number, Uint8Array>();
  const seen = { records: 0, parts: 0, markers: 0, fresh: 0, gone: 0, deltas: 0, index: 0 };
  const all: Fields[] = [];
  const authors: string[] = [];
  let [previousSum, sequence, timeMs, pageCount, restoreTarget] = [0, 0, 0, 0, -1];
  let precedingBytes = 0;
  for (const [number, bytes] of segments.entries()) {
    const header = fields(segment, bytes, 0);
    check(header.magic === 0x434c5347 && header.version === 3, 'magic and version of a segment');
    check(header.number === number + 1 && header.pageBytes === PAGE_BYTES, 'number of a segment');
    check(header.sum === sumOf(bytes.subarray(8, 64), salt), 'sum of a segment');
    check(header.baseSequence === sequence && header.baseSum === previousSum, 'base of a segment');
    check(number === 0 || header.baseTimeMs === timeMs, 'time of a segment');
    check(header.precedingBytes === precedingBytes, 'bytes before a segment');
    precedingBytes += bytes.length;
    const places = new Map<number, Fields>();
    if (header.indexSum === sumOf(bytes.subarray(72, 4096), salt)) {
      for (let i = 0; i < header.indexCount!; i++) {
        const entry = fields(index, bytes, segment.index!.offset + i * 32);
        places.set(entry.offset!, entry);
      }
    }
    let at = SEGMENT_HEADER_BYTES;
    const note = () =>
      all.push({ segment: number + 1, offset: at, sequence, timeMs, recordSum: previousSum });
    note();
    while (at + 64 <= bytes.length) {
      const record = fields(recordTable, bytes, at);
      if (record.magic !== 0x434c4f47 || record.previousSum !== previousSum) break;
      const end = at + record.length!;
      check(record.length! % 8 === 0, 'length of a record');
      check(record.sum === sumOf(bytes.subarray(at + 8, end), salt), 'sum of a record');
      const isNewTimeline = Math.floor(record.sequence! / 2 ** 32) > Math.floor(sequence / 2 ** 32);
      check(record.timeMs! >= timeMs || isNewTimeline, 'order of times');
      check(record.durableSequence! <= record.sequence!, 'durable sequence');
      check(record.pageCountBefore === pageCount, 'page count before');
      previousSum = record.sum!;
      timeMs = record.timeMs!;
      seen.records++;
      let body = at + 64;
      if ((record.flags! & ANNOTATED) !== 0) {
        const by = fields(annotation, bytes, body);
        const end = body + by.annotationBytes!;
        const sum = sumOf(bytes.subarray(body + 4, end), 0x434c4259) % 2 ** 32;
        check(by.sum === sum, 'sum of an annotation');
        let text = body + annotation.texts!.offset;
        const texts = [by.connectionBytes!, by.methodBytes!, by.labelBytes!].map((length) => {
          text += length;
          return new TextDecoder().decode(bytes.subarray(text - length, text));
        });
        authors.push([by.kind, ...texts].join(' '));
        body = end;
      }
      if ((record.flags! & MARKER) !== 0) {
        restoreTarget = fields(marker, bytes, body).sequence!;
        seen.markers++;
      } else {
        redo(bytes, body, end, pages, salt, seen);
      }
      if ((record.flags! & CONTINUES) !== 0) seen.parts++;
      else {
        sequence = record.sequence!;
        pageCount = record.pageCount!;
      }
      at = end;
      note();
      const place = places.get(at);
      if (place !== undefined) {
        check(place.sequence === sequence && place.timeMs === timeMs, 'an entry of the index');
        check(place.sum === previousSum, 'the sum of an entry of the index');
        seen.index++;
      }
    }
  }
  const image = new Uint8Array(pageCount * PAGE_BYTES);
  for (const [i, page] of pages) if (i < pageCount) image.set(page, i * PAGE_BYTES);
  return { image, seen, restoreTarget, sequence, authors, places: all };
}

function redo(
  bytes: Uint8Array,
  start: number,
  end: number,
  pages: Map<number, Uint8Array>,
  salt: number,
  seen: { fresh: number; gone: number; deltas: number },
): void {
  for (let at = start; end - at >= 12; ) {
    const { pageIndex, newSum, info } = fields(entryTable, bytes, at) as Record<string, number>;
    if ((info! & DELTA) !== 0) {
      seen.deltas++;
      at = redoDelta(bytes, at, pages, salt);
      continue;
    }
    const isFresh = (info! & FRESH) !== 0;
    const isGone = (info! & GONE) !== 0;
    if (isFresh) seen.fresh++;
    if (isGone) seen.gone++;
    const old = pages.get(pageIndex!);
    const page = isFresh || old === undefined ? new Uint8Array(PAGE_BYTES) : old.slice();
    at += 12;
    for (let i = 0; i < (info! & 0xffff); i++) {
      const { startWord, wordCount } = fields(range, bytes, at) as Record<string, number>;
      const [from, size] = [startWord! * 4, wordCount! * 4];
      at += 4;
      if (!isFresh) {
        const before = bytes.subarray(at, at + size);
        const held = page.subarray(from, from + size);
        check(
          before.every((byte, k) => byte === held[k]),
          `old bytes of page ${pageIndex}`,
        );
        at += size;
      }
      if (!isGone) {
        page.set(bytes.subarray(at, at + size), from);
        at += size;
      }
    }
    if (isGone) pages.delete(pageIndex!);
    else {
      check(pageSum(page, pageIndex!, salt) === newSum, `new sum of page ${pageIndex}`);
      pages.set(pageIndex!, page);
    }
  }
}

/** Reads a number of seven bits a byte. */
function numberAt(bytes: Uint8Array, start: number) {
  let value = 0;
  for (let [at, factor] = [start, 1]; ; factor *= 128) {
    const byte = bytes[at++]!;
    value += (byte % 128) * factor;
    if (byte < 128) return { value, end: at };
  }
}

/** Makes a list of bytes from a script that begins at `at`. Returns it, which source bytes it copied, and the end. */
function runScript(bytes: Uint8Array, start: number, length: number, source: readonly number[]) {
  let at = start;
  const number = () => {
    const { value, end } = numberAt(bytes, at);
    at = end;
    return value;
  };
  const made: number[] = [];
  const copies: { target: number; source: number; length: number }[] = [];
  let from = 0;
  while (made.length < length) {
    const literals = number();
    made.push(...bytes.subarray(at, at + literals));
    at += literals;
    if (made.length >= length) break;
    const count = number();
    const distance = number();
    from += distance % 2 === 0 ? distance / 2 : -(distance + 1) / 2;
    copies.push({ target: made.length, source: from, length: count });
    check(from >= 0 && from + count <= source.length && count > 0, 'a copy');
    for (let i = 0; i < count; i++) made.push(source[from + i]!);
    from += count;
  }
  check(made.length === length, 'length of what a script makes');
  return { made, copies, end: at };
}

/** Redoes the differences of some pages, and checks that the old bytes come back too. Returns the offset after them. */
function redoDelta(
  bytes: Uint8Array,
  start: number,
  pages: Map<number, Uint8Array>,
  salt: number,
): number {
  const { entryBytes, deltaPages } = fields(deltaTable, bytes, start) as Record<string, number>;
  const first = start + deltaTable.sums!.offset;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let scriptsAt = first + 4 * deltaPages!;
  const list = Array.from({ length: deltaPages! }, (_, i) => {
    const { value, end } = numberAt(bytes, scriptsAt);
    scriptsAt = end;
    const newSum = view.getUint32(first + 4 * i, true);
    return { pageIndex: Math.floor(value / 4), flags: value % 4, newSum };
  });
  const old = list
    .filter(({ flags }) => (flags & 1) !== 0)
    .flatMap(({ pageIndex }) => [...pages.get(pageIndex)!]);
  const next = list.filter(({ flags }) => (flags & 2) !== 0);
  const forwards = runScript(bytes, scriptsAt, next.length * PAGE_BYTES, old);
  const isKnown = new Uint8Array(old.length);
  for (const copy of forwards.copies) {
    isKnown.fill(1, copy.source, copy.source + copy.length);
  }
  const rest = old.filter((_, i) => isKnown[i] === 0);
  const back = runScript(bytes, forwards.end, rest.length, forwards.made);
  check(String(back.made) === String(rest), 'old bytes of differences');
  const end = start + entryBytes!;
  check(back.end <= end && back.end > end - 4 && entryBytes! % 4 === 0, 'length of differences');
  for (const { pageIndex, flags } of list) if ((flags & 2) === 0) pages.delete(pageIndex);
  next.forEach(({ pageIndex, newSum }, i) => {
    const page = Uint8Array.from(forwards.made.slice(i * PAGE_BYTES, (i + 1) * PAGE_BYTES));
    check(pageSum(page, pageIndex, salt) === newSum, `new sum of page ${pageIndex}`);
    pages.set(pageIndex, page);
  });
  return end;
}
