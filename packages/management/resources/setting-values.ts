// The settings of a zone: their ids, initial values and valid values.
//
// Ids and values follow the types of the npm package `cloudflare` (3.5.0 to 7.3.0). Retired settings are
// listed separately: they exist only for calls that a change admits them to.

import * as v from 'valibot';

export interface SettingKind {
  readonly first: unknown;
  readonly values: v.GenericSchema;
  /** The field with its value. @default 'value' */
  readonly field?: 'enabled';
}

const onOff = v.picklist(['on', 'off']);
const seconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(31_536_000));

function oneOf<const T extends readonly (string | number)[]>(first: T[number], values: T) {
  return { first, values: v.picklist(values) } satisfies SettingKind;
}

const OFF = { first: 'off', values: onOff } satisfies SettingKind;
const ON = { first: 'on', values: onOff } satisfies SettingKind;

/** By id. A map, because ids come from requests and could name members of an object. */
export const SETTINGS = settings({
  '0rtt': OFF,
  advanced_ddos: ON,
  aegis: {
    first: { enabled: false },
    values: v.partial(v.object({ enabled: v.boolean(), pool_id: v.string() })),
  },
  always_online: OFF,
  always_use_https: OFF,
  automatic_https_rewrites: ON,
  automatic_platform_optimization: {
    first: {
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
  browser_cache_ttl: { first: 14_400, values: seconds },
  browser_check: ON,
  cache_level: oneOf('aggressive', ['aggressive', 'basic', 'simplified']),
  challenge_ttl: { first: 1800, values: seconds },
  china_network_enabled: OFF,
  ciphers: { first: [], values: v.array(v.string()) },
  content_converter: OFF,
  development_mode: OFF,
  early_hints: OFF,
  edge_cache_ttl: { first: 7200, values: seconds },
  email_obfuscation: ON,
  fonts: OFF,
  h2_prioritization: oneOf('off', ['on', 'off', 'custom']),
  hotlink_protection: OFF,
  http2: ON,
  http3: ON,
  image_resizing: oneOf('off', ['on', 'off', 'open']),
  ip_geolocation: ON,
  ipv6: ON,
  max_upload: { first: 100, values: v.pipe(v.number(), v.integer(), v.minValue(100)) },
  min_tls_version: oneOf('1.0', ['1.0', '1.1', '1.2', '1.3']),
  mirage: OFF,
  nel: { first: { enabled: false }, values: v.object({ enabled: v.optional(v.boolean()) }) },
  opportunistic_encryption: ON,
  opportunistic_onion: ON,
  orange_to_orange: OFF,
  origin_error_page_pass_thru: OFF,
  origin_h2_max_streams: {
    first: 100,
    values: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000)),
  },
  origin_max_http_version: oneOf('2', ['2', '1']),
  polish: oneOf('off', ['off', 'lossless', 'lossy']),
  pre_render: OFF,
  prefetch_preload: OFF,
  proxy_read_timeout: { first: 100, values: v.pipe(v.number(), v.minValue(1)) },
  pseudo_ipv4: oneOf('off', ['off', 'add_header', 'overwrite_header']),
  redirects_for_ai_training: OFF,
  replace_insecure_js: ON,
  response_buffering: OFF,
  rocket_loader: OFF,
  search_for_agents: OFF,
  security_header: {
    first: { strict_transport_security: { enabled: false } },
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
  sha1_support: OFF,
  sort_query_string_for_cache: OFF,
  ssl: oneOf('off', ['off', 'flexible', 'full', 'strict']),
  ssl_recommender: { first: false, values: v.boolean(), field: 'enabled' },
  tls_1_2_only: OFF,
  tls_1_3: oneOf('on', ['on', 'off', 'zrt']),
  tls_client_auth: OFF,
  transformations: oneOf('off', ['on', 'off', 'open']),
  transformations_allowed_origins: { first: '', values: v.string() },
  true_client_ip_header: OFF,
  waf: OFF,
  webmcp_enabled: OFF,
  webmcp_packs: { first: '', values: v.string() },
  webp: OFF,
  websockets: ON,
});

export const RETIRED_SETTINGS = settings({
  brotli: ON,
  minify: {
    first: { css: 'off', html: 'off', js: 'off' },
    values: v.partial(v.object({ css: onOff, html: onOff, js: onOff })),
  },
  mobile_redirect: {
    first: { status: 'off', mobile_subdomain: null, strip_uri: false },
    values: v.partial(
      v.object({
        status: onOff,
        mobile_subdomain: v.nullable(v.string()),
        strip_uri: v.boolean(),
      }),
    ),
  },
  privacy_pass: ON,
  server_side_exclude: ON,
});

function settings(kinds: Readonly<Record<string, SettingKind>>): ReadonlyMap<string, SettingKind> {
  return new Map(Object.entries(kinds));
}
