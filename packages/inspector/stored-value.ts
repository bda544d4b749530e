// Treats stored values of every type of structured clone as trees: lists their members, edits one member, writes them
// as text, and compares them. An edit makes a copy, so that the value on screen stays as it was read.

import { leafText, typeText } from './text.ts';

/** A member of a value, with the name that the tree shows. */
export interface Member {
  readonly name: string;
  readonly value: unknown;
  /** Returns a copy of the parent with another value for this member; undefined if the member cannot be changed. */
  readonly replaced?: (value: unknown) => unknown;
}

/** Returns the members of a value, or an empty list if it has none. */
export function membersOf(value: unknown): Member[] {
  if (typeof value !== 'object' || value === null) return [];
  if (value instanceof Map) {
    return Array.from(value, ([key, member]) => ({
      name: nameOf(key),
      value: member,
      replaced: (next) => new Map(value).set(key, next),
    }));
  }
  if (value instanceof Set) {
    return Array.from(value, (member, index) => ({
      name: String(index),
      value: member,
      replaced: (next) => new Set(Array.from(value, (old) => (old === member ? next : old))),
    }));
  }
  if (!Array.isArray(value) && !isPlain(value)) return [];
  // Entries are listed for arrays, too, because one may have 4,294,967,295 holes and properties with names.
  return Object.entries(value).map(([name, member]) => ({
    name,
    value: member,
    replaced: (next) =>
      Array.isArray(value) ? copyWithItem(value, name, next) : { ...value, [name]: next },
  }));
}

/** Copies an array with its holes and its named properties, and changes one item. */
function copyWithItem(array: readonly unknown[], name: string, next: unknown): unknown[] {
  const copy: unknown[] = [];
  copy.length = array.length;
  return Object.assign(copy, array, { [name]: next });
}

/** Returns whether a value is shown as a tree. */
export function hasMembers(value: unknown): boolean {
  return (
    value instanceof Map ||
    value instanceof Set ||
    Array.isArray(value) ||
    (typeof value === 'object' && value !== null && isPlain(value))
  );
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function nameOf(key: unknown): string {
  return typeof key === 'string' ? key : typeof key === 'object' ? '(object)' : String(key);
}

const LINE_LENGTH_MAX = 160;

/** Returns a value as one line of text, which is cut if it is long. */
export function lineOf(value: unknown): string {
  const line = lineOfMember(value, 0);
  return line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX)}…` : line;
}

function lineOfMember(value: unknown, depth: number): string {
  if (!hasMembers(value)) return leafText(value);
  if (depth > 3) return typeText(value);
  const isList = Array.isArray(value) || value instanceof Set;
  const members = membersOf(value)
    .slice(0, 20)
    .map((member, index) => {
      const text = lineOfMember(member.value, depth + 1);
      return isList && member.name === String(index) ? text : `${member.name}: ${text}`;
    });
  const type = value instanceof Map || value instanceof Set ? `${typeText(value)} ` : '';
  return isList ? `${type}[${members.join(', ')}]` : `${type}{${members.join(', ')}}`;
}

/** Returns the literal with which a value is edited, or null if it cannot be edited. */
export function literalOf(value: unknown): string | null {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Date && !Number.isNaN(value.getTime())) {
    return `new Date("${value.toISOString()}")`;
  }
  const text = isJson(value) ? JSON.stringify(value, null, 1) : undefined;
  return text ?? null;
}

/**
 * Returns the value of a literal: JSON, a bigint such as `12n`, or `new Date("…")`.
 *
 * @throws SyntaxError for any other text
 */
export function parseLiteral(literal: string): unknown {
  const text = literal.trim();
  if (/^-?\d+n$/.test(text)) return BigInt(text.slice(0, -1));
  const [, time] = /^new Date\("([^"]+)"\)$/.exec(text) ?? [];
  if (time !== undefined) {
    const date = new Date(time);
    if (Number.isNaN(date.getTime())) throw new SyntaxError(`"${time}" is not a time.`);
    return date;
  }
  return JSON.parse(text) as unknown;
}

/** Returns whether JSON can hold the value without loss. */
function isJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object' || depth > 50) return false;
  if (Array.isArray(value)) return Array.from(value).every((item) => isJson(item, depth + 1));
  return isPlain(value) && Object.values(value).every((item) => isJson(item, depth + 1));
}

/** Returns a text that is equal for equal values of any type, and differs for others. */
export function fingerprintOf(value: unknown): string {
  return fingerprintWithin(value, new Map());
}

/**
 * Returns the fingerprint of a value. `met` numbers the objects that were already written. Each object is written once,
 * because objects may refer to one another.
 */
function fingerprintWithin(value: unknown, met: Map<unknown, number>): string {
  if (hasMembers(value)) {
    const earlier = met.get(value);
    if (earlier !== undefined) return `object ${earlier}`;
    met.set(value, met.size);
    const members = membersOf(value).map(
      (member) => `${JSON.stringify(member.name)}:${fingerprintWithin(member.value, met)}`,
    );
    const length = Array.isArray(value) ? value.length : '';
    return `${Object.prototype.toString.call(value)}${length}{${members.join()}}`;
  }
  if (value instanceof ArrayBuffer) return `bytes ${new Uint8Array(value).join()}`;
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return `${Object.prototype.toString.call(value)} ${bytes.join()}`;
  }
  if (value instanceof Date) return `date ${value.getTime()}`;
  if (value instanceof Error) return `error ${value.name} ${value.message}`;
  return `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`;
}
