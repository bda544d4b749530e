// `Cloudflare.compatibilityFlags` of object code: which of workerd's dated changes hold here.
//
// Names only changes that objects can observe here. Every other flag is absent, and so falsy.

import type { CurrentContext } from '../../src/io/io-context.ts';
import { replaceRead } from '../../src/io/replace-global.ts';

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
