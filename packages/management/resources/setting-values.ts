// The settings of a zone: their ids, initial values and valid values.
//
// Ids and values follow the types of the npm package `cloudflare` (3.5.0 to 7.3.0). Retired settings are listed
// separately, because they exist only for calls on days before their end.

import * as v from 'valibot';

export interface SettingKind {
  readonly initial: unknown;
  readonly values: v.GenericSchema;
  /** The name of the field with the setting's value. @default 'value' */
  readonly field?: 'enabled';
}

const onOff = v.picklist(['on', 'off']);
const seconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(31_536_000));

function oneOf<const T extends readonly (string | number)[]>(initial: T[number], values: T) {
  return { initial, values: v.picklist(values) } satisfies SettingKind;
}

const INITIALLY_OFF = { initial: 'off', values: onOff } satisfies SettingKind;
const INITIALLY_ON = { initial: 'on', values: onOff } satisfies SettingKind;

/** The current settings by id. It is a map, because ids come from requests and could name members of an object. */
export const SETTINGS = settings({
  '0rtt': INITIALLY_OFF,
  advanced_ddos: INITIALLY_ON,
  aegis: {
    initial: { enabled: false },
    values: v.partial(v.object({ enabled: v.boolean(), pool_id: v.string() })),
  },
  always_online: INITIALLY_OFF,
  always_use_https: INITIALLY_OFF,
  automatic_https_rewrites: INITIALLY_ON,
  automatic_platform_optimization: {
    initial: {
      ...{ cache_by_device_type: false, cf: false, enabled: false, hostnames: [] },
      ...{ wordpress: false, wp_plugin: false },
    },
    values: v.object({
      cache_by_device_type: v.boolean(),
      cf: v.boolean(),
      enabled: v.boolean(),
      hostnames: v.array(v.string()),
      wordpress: v.boolean(),
      wp_plugin: v.boolean(),
    }),
  },
  browser_cache_ttl: { initial: 14_400, values: seconds },
  browser_check: INITIALLY_ON,
  cache_level: oneOf('aggressive', ['aggressive', 'basic', 'simplified']),
  challenge_ttl: { initial: 1800, values: seconds },
  china_network_enabled: INITIALLY_OFF,
  ciphers: { initial: [], values: v.array(v.string()) },
  content_converter: INITIALLY_OFF,
  development_mode: INITIALLY_OFF,
  early_hints: INITIALLY_OFF,
  edge_cache_ttl: { initial: 7200, values: seconds },
  email_obfuscation: INITIALLY_ON,
  fonts: INITIALLY_OFF,
  h2_prioritization: oneOf('off', ['on', 'off', 'custom']),
  hotlink_protection: INITIALLY_OFF,
  http2: INITIALLY_ON,
  http3: INITIALLY_ON,
  image_resizing: oneOf('off', ['on', 'off', 'open']),
  ip_geolocation: INITIALLY_ON,
  ipv6: INITIALLY_ON,
  max_upload: { initial: 100, values: v.pipe(v.number(), v.integer(), v.minValue(100)) },
  min_tls_version: oneOf('1.0', ['1.0', '1.1', '1.2', '1.3']),
  mirage: INITIALLY_OFF,
  nel: { initial: { enabled: false }, values: v.object({ enabled: v.optional(v.boolean()) }) },
  opportunistic_encryption: INITIALLY_ON,
  opportunistic_onion: INITIALLY_ON,
  orange_to_orange: INITIALLY_OFF,
  origin_error_page_pass_thru: INITIALLY_OFF,
  origin_h2_max_streams: {
    initial: 100,
    values: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000)),
  },
  origin_max_http_version: oneOf('2', ['2', '1']),
  polish: oneOf('off', ['off', 'lossless', 'lossy']),
  pre_render: INITIALLY_OFF,
  prefetch_preload: INITIALLY_OFF,
  proxy_read_timeout: { initial: 100, values: v.pipe(v.number(), v.minValue(1)) },
  pseudo_ipv4: oneOf('off', ['off', 'add_header', 'overwrite_header']),
  redirects_for_ai_training: INITIALLY_OFF,
  replace_insecure_js: INITIALLY_ON,
  response_buffering: INITIALLY_OFF,
  rocket_loader: INITIALLY_OFF,
  search_for_agents: INITIALLY_OFF,
  security_header: {
    initial: { strict_transport_security: { enabled: false } },
    values: v.looseObject({}),
  },
  security_level: oneOf('medium', [
    'off',
    'essentially_off',
    'low',
    'medium',
    'high',
    'under_attack',
  ]),
  sha1_support: INITIALLY_OFF,
  sort_query_string_for_cache: INITIALLY_OFF,
  ssl: oneOf('off', ['off', 'flexible', 'full', 'strict']),
  ssl_recommender: { initial: false, values: v.boolean(), field: 'enabled' },
  tls_1_2_only: INITIALLY_OFF,
  tls_1_3: oneOf('on', ['on', 'off', 'zrt']),
  tls_client_auth: INITIALLY_OFF,
  transformations: oneOf('off', ['on', 'off', 'open']),
  transformations_allowed_origins: { initial: '', values: v.string() },
  true_client_ip_header: INITIALLY_OFF,
  waf: INITIALLY_OFF,
  webmcp_enabled: INITIALLY_OFF,
  webmcp_packs: { initial: '', values: v.string() },
  webp: INITIALLY_OFF,
  websockets: INITIALLY_ON,
});

export const RETIRED_SETTINGS = settings({
  brotli: INITIALLY_ON,
  minify: {
    initial: { css: 'off', html: 'off', js: 'off' },
    values: v.partial(v.object({ css: onOff, html: onOff, js: onOff })),
  },
  mobile_redirect: {
    initial: { status: 'off', mobile_subdomain: null, strip_uri: false },
    values: v.partial(
      v.object({
        status: onOff,
        mobile_subdomain: v.nullable(v.string()),
        strip_uri: v.boolean(),
      }),
    ),
  },
  privacy_pass: INITIALLY_ON,
  server_side_exclude: INITIALLY_ON,
});

function settings(kinds: Readonly<Record<string, SettingKind>>): ReadonlyMap<string, SettingKind> {
  return new Map(Object.entries(kinds));
}
