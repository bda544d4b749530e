// Gives object code workerd's additions to the web platform: `Cloudflare.compatibilityFlags`, the properties of
// `navigator`, `crypto.subtle.timingSafeEqual` and `Headers.getAll`.
//
// Only flags whose change objects can observe in this package are listed; any other flag reads as undefined. If the
// platform has a navigator, its other members (`locks`, `storage`) stay.

import type { CurrentContext } from '../../../src/shared/calls/io/io-context.ts';
import {
  replaceGlobal,
  replaceRead,
  undoAll,
} from '../../../src/shared/calls/io/replace-global.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';

/** The flags that are on for every compatibility date. */
const FLAGS_ALWAYS_ON = [
  'enable_ctx_exports',
  'enable_navigator_language',
  'enable_weak_ref',
  'enhanced_error_serialization',
  'formdata_parser_supports_files',
  'global_navigator',
  'http_headers_getsetcookie',
  'rpc',
  'set_tostring_tag',
  'streams_enable_constructors',
  'transformstream_enable_standard_constructor',
  'unwrap_custom_thenables',
  'url_standard',
  'urlsearchparams_delete_has_value_arg',
];

/** The flags that are on from this compatibility date on. They report behaviour that other code derives from the date. */
const FLAGS_BY_DATE = {
  delete_all_deletes_alarm: '2026-02-24',
  websocket_standard_binary_type: '2026-03-17',
};

type Flags = Readonly<Record<string, boolean>>;

/** Makes `Cloudflare` visible to object code. Call the result to remove it. */
export function installCloudflare(
  scope: object,
  current: CurrentContext,
  isObjectCode: () => boolean,
): () => void {
  const replacement = new Cloudflare(() => flagsForDate(current()?.compatibilityDate ?? ''));
  return replaceRead(scope, 'Cloudflare', (original) =>
    isObjectCode() ? replacement : original(),
  );
}

class Cloudflare {
  declare readonly compatibilityFlags: Flags;

  constructor(flags: () => Flags) {
    Object.defineProperty(this, 'compatibilityFlags', { get: flags, enumerable: true });
  }

  get [Symbol.toStringTag](): string {
    return 'Cloudflare';
  }
}

function flagsForDate(date: string): Flags {
  const flags: Record<string, boolean> = Object.create(null);
  for (const flag of FLAGS_ALWAYS_ON) flags[flag] = true;
  for (const [flag, since] of Object.entries(FLAGS_BY_DATE)) flags[flag] = date >= since;
  return Object.freeze(flags);
}

/** The properties of workerd's navigator. Libraries read them to choose the code path for workers. */
const NAVIGATOR_PROPERTIES = {
  userAgent: 'Cloudflare-Workers',
  language: 'en',
  languages: Object.freeze(['en']),
  platform: '',
  hardwareConcurrency: 1,
};

/** Makes `navigator` look like workerd's to object code. Call the result to undo this. */
export function installNavigator(scope: object, isObjectCode: () => boolean): () => void {
  const native = Reflect.get(scope, 'navigator') as object | undefined;
  if (native === undefined) {
    const replacement = new Navigator();
    return replaceRead(scope, 'navigator', (original) =>
      isObjectCode() ? replacement : original(),
    );
  }
  const undo = Object.entries(NAVIGATOR_PROPERTIES).map(([name, property]) =>
    replaceRead(native, name, (original) => (isObjectCode() ? property : original())),
  );
  return () => undoAll(undo);
}

class Navigator {
  constructor() {
    Object.assign(this, NAVIGATOR_PROPERTIES);
  }

  get [Symbol.toStringTag](): string {
    return 'Navigator';
  }
}

refuseToClone(Navigator);

type Scope = Pick<typeof globalThis, 'Headers'> & Partial<Pick<typeof globalThis, 'SubtleCrypto'>>;

/** Adds workerd's methods to classes of the web platform; the result undoes it. */
export function installAddedMethods({ Headers, SubtleCrypto }: Scope): () => void {
  function timingSafeEqual(this: unknown, ...[a, b]: unknown[]): boolean {
    if (SubtleCrypto === undefined || !(this instanceof SubtleCrypto)) {
      throw new TypeError('Illegal invocation: call timingSafeEqual on crypto.subtle.');
    }
    return areEqual(bytesOf(a, 1), bytesOf(b, 2));
  }
  function getAll(this: Headers, ...[name]: unknown[]): string[] {
    if (name === undefined) {
      throw new TypeError("Failed to execute 'getAll' on 'Headers': parameter 1 is not a string.");
    }
    if (String(name).toLowerCase() === 'set-cookie') return this.getSetCookie();
    throw new TypeError('getAll() can only be used with the header name "Set-Cookie".');
  }
  const undo = [replaceGlobal(Headers.prototype, 'getAll', getAll)];
  // `SubtleCrypto` is missing outside a secure context.
  if (SubtleCrypto !== undefined) {
    undo.push(replaceGlobal(SubtleCrypto.prototype, 'timingSafeEqual', timingSafeEqual));
  }
  return () => undoAll(undo);
}

/** Compares all bytes, so that the time taken does not reveal which of them differ. */
function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) throw new TypeError('Input buffers must have the same byte length.');
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!;
  return difference === 0;
}

function bytesOf(value: unknown, position: number): Uint8Array {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(
    `Failed to execute 'timingSafeEqual' on 'SubtleCrypto': parameter ${position} is not an ` +
      'ArrayBuffer or a view of one.',
  );
}
