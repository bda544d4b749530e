// Shows a stored value as readable JavaScript: the code that would create it, or nearly so.
//
// It covers every type of structured clone. Long values are cut, with a comment that says how much is missing. A
// reference to an enclosing object becomes a comment, too.

const LINE_LENGTH_MAX = 72;
const ITEMS_MAX = 100;
const STRING_LENGTH_MAX = 5000;
const DEPTH_MAX = 12;

/** Formats the value as JavaScript, on several lines if it does not fit on one. */
export function formatValue(value: unknown): string {
  return format(value, '', []);
}

/** Formats the value as JavaScript on one line. */
export function formatOnLine(value: unknown): string {
  return format(value, null, []);
}

/** Names the type of the value, as in "Map(3)", "string" or "Uint8Array(16)". */
export function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  const type = Object.prototype.toString.call(value).slice(8, -1);
  if (value instanceof Map || value instanceof Set) return `${type}(${value.size})`;
  if (Array.isArray(value)) return `Array(${value.length})`;
  if (value instanceof ArrayBuffer) return `ArrayBuffer(${value.byteLength})`;
  if (value instanceof DataView) return `DataView(${value.byteLength})`;
  if (isTypedArray(value)) return `${type}(${value.length})`;
  if (value instanceof Error) return value.name;
  return type;
}

/** The spaces before each line; null means that everything is written on one line. */
type Indent = string | null;

function format(value: unknown, indent: Indent, parents: readonly unknown[]): string {
  switch (typeof value) {
    case 'string':
      return formatString(value);
    case 'bigint':
      return `${value}n`;
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'object':
      break;
    default:
      return String(value);
  }
  if (value === null) return 'null';
  if (parents.includes(value)) return '/* itself, circular */';
  if (parents.length >= DEPTH_MAX) return '/* deeper */';
  return formatObject(value, indent, [...parents, value]);
}

function formatObject(value: object, indent: Indent, parents: readonly unknown[]): string {
  const inner = indent === null ? null : `${indent}  `;
  const item = (member: unknown) => format(member, inner, parents);

  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'new Date(NaN)' : `new Date("${value.toISOString()}")`;
  }
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return `new ${value.name}(${formatString(value.message)})`;
  if (value instanceof Map) {
    const entries = take(value.entries(), ([key, member]) => `[${item(key)}, ${item(member)}]`);
    return enclose('new Map([', '])', entries, value.size, indent);
  }
  if (value instanceof Set) {
    return enclose('new Set([', '])', take(value.values(), item), value.size, indent);
  }
  if (value instanceof ArrayBuffer) return `${formatBytes(new Uint8Array(value), indent)}.buffer`;
  if (value instanceof DataView) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return `new DataView(${formatBytes(bytes, indent)}.buffer)`;
  }
  if (isTypedArray(value)) return formatBytes(value, indent);
  if (Array.isArray(value)) {
    return enclose('[', ']', arrayItems(value, item), value.length, indent);
  }
  if (value instanceof Number || value instanceof Boolean || value instanceof String) {
    return `Object(${item(value.valueOf())})`;
  }
  const boxed: unknown = value.valueOf();
  if (typeof boxed === 'bigint') return `Object(${boxed}n)`;
  const keys = Object.keys(value);
  const members = keys
    .slice(0, ITEMS_MAX)
    .map((key) => `${formatKey(key)}: ${item((value as Record<string, unknown>)[key])}`);
  return enclose('{', '}', members, keys.length, indent);
}

function arrayItems(array: readonly unknown[], item: (member: unknown) => string): string[] {
  const items: string[] = [];
  for (let i = 0; i < array.length && items.length < ITEMS_MAX; i++) {
    items.push(i in array ? item(array[i]) : '/* hole */');
  }
  return items;
}

type TypedArray = Uint8Array | BigInt64Array;

function isTypedArray(value: object): value is TypedArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function formatBytes(array: TypedArray, indent: Indent): string {
  const suffix =
    array instanceof BigInt64Array || describeType(array).startsWith('BigU') ? 'n' : '';
  const type = Object.prototype.toString.call(array).slice(8, -1);
  const members: Iterable<number | bigint> = array.subarray(0, ITEMS_MAX);
  const items = Array.from(members, (member) => `${member}${suffix}`);
  // Several numbers share a line, because one per line would take too much height.
  const rest = array.length - items.length;
  const more = rest > 0 ? ` /* and ${rest} more */` : '';
  const rows: string[] = [];
  for (let i = 0; i < items.length; i += 16) rows.push(items.slice(i, i + 16).join(', '));
  if (rows.length <= 1 || indent === null) return `new ${type}([${rows.join(', ')}${more}])`;
  const inner = `\n${indent}  `;
  return `new ${type}([${inner}${rows.join(`,${inner}`)}${more}\n${indent}])`;
}

function enclose(
  open: string,
  close: string,
  items: readonly string[],
  count: number,
  indent: Indent,
): string {
  const all = count > items.length ? [...items, `/* and ${count - items.length} more */`] : items;
  const gap = open === '{' && all.length > 0 ? ' ' : '';
  const line = `${open}${gap}${all.join(', ')}${gap}${close}`;
  if (indent === null) return line;
  if (line.length + indent.length <= LINE_LENGTH_MAX && !line.includes('\n')) return line;
  return `${open}\n${all.map((item) => `${indent}  ${item},`).join('\n')}\n${indent}${close}`;
}

function take<T>(items: Iterable<T>, form: (item: T) => string): string[] {
  const taken: string[] = [];
  for (const item of items) {
    if (taken.length === ITEMS_MAX) break;
    taken.push(form(item));
  }
  return taken;
}

function formatString(text: string): string {
  if (text.length <= STRING_LENGTH_MAX) return JSON.stringify(text);
  const rest = text.length - STRING_LENGTH_MAX;
  return `${JSON.stringify(text.slice(0, STRING_LENGTH_MAX))} /* and ${rest} more characters */`;
}

function formatKey(key: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? key : JSON.stringify(key);
}
