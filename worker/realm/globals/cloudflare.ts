// Names that object code has on workerd beside the web platform: `Cloudflare.compatibilityFlags`, the facts
// of `navigator`, `crypto.subtle.timingSafeEqual` and `Headers.getAll`.
//
// The flags name only changes that objects can observe here; every other flag is absent, and so falsy. Where
// there is a navigator, only its facts change: its other members (`locks`, `storage`) stay.

import type { CurrentContext } from '../../../src/shared/calls/io/io-context.ts';
import {
  replaceGlobal,
  replaceRead,
  undoAll,
} from '../../../src/shared/calls/io/replace-global.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';

/** Hold whatever date the class has. */
const UNDATED = [
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

/** Hold for classes of this compatibility date and later ones, which the code that reads the date checks. */
const DATED = {
  delete_all_deletes_alarm: '2026-02-24',
  websocket_standard_binary_type: '2026-03-17',
};

type Flags = Readonly<Record<string, boolean>>;

/** Puts `Cloudflare` into the scope of object code; the result undoes it. */
export function installCloudflare(
  scope: object,
  current: CurrentContext,
  isObjectCode: () => boolean,
): () => void {
  const shown = new Cloudflare(() => flagsOn(current()?.compatibilityDate ?? ''));
  return replaceRead(scope, 'Cloudflare', (original) => (isObjectCode() ? shown : original()));
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

function flagsOn(date: string): Flags {
  const flags: Record<string, boolean> = Object.create(null);
  for (const flag of UNDATED) flags[flag] = true;
  for (const [flag, since] of Object.entries(DATED)) flags[flag] = date >= since;
  return Object.freeze(flags);
}

/** Facts of workerd's navigator, so that libraries take the same path. */
const FACTS = {
  userAgent: 'Cloudflare-Workers',
  language: 'en',
  languages: Object.freeze(['en']),
  platform: '',
  hardwareConcurrency: 1,
};

/** Shows the facts of `navigator` to object code; the result undoes it. */
export function installNavigator(scope: object, isObjectCode: () => boolean): () => void {
  const native = Reflect.get(scope, 'navigator') as object | undefined;
  if (native === undefined) {
    const shown = new Navigator();
    return replaceRead(scope, 'navigator', (original) => (isObjectCode() ? shown : original()));
  }
  const undo = Object.entries(FACTS).map(([name, fact]) =>
    replaceRead(native, name, (original) => (isObjectCode() ? fact : original())),
  );
  return () => undoAll(undo);
}

class Navigator {
  constructor() {
    Object.assign(this, FACTS);
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
  // Missing outside a secure context.
  if (SubtleCrypto !== undefined) {
    undo.push(replaceGlobal(SubtleCrypto.prototype, 'timingSafeEqual', timingSafeEqual));
  }
  return () => undoAll(undo);
}

/** Takes the same time, whichever bytes differ. */
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
