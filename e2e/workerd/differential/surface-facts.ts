// Questions about the runtime's own description: navigator, Cloudflare, the kinds of its objects.

import { names, type Questions, refusal, scope } from './surface-answers.ts';

const FLAGS = [
  'delete_all_deletes_alarm',
  'enable_ctx_exports',
  'enable_navigator_language',
  'enable_weak_ref',
  'enhanced_error_serialization',
  'formdata_parser_supports_files',
  'global_navigator',
  'http_headers_getsetcookie',
  'nodejs_compat',
  'no_such_flag',
  'rpc',
  'set_tostring_tag',
  'streams_enable_constructors',
  'transformstream_enable_standard_constructor',
  'unwrap_custom_thenables',
  'url_standard',
  'urlsearchparams_delete_has_value_arg',
  'websocket_standard_binary_type',
];

const isPresent = (names: readonly string[], target: object) =>
  names.map((name) => [name, Reflect.get(target, name) !== undefined]);

export const FACTS: Questions = {
  navigator: () => [
    Object.prototype.toString.call(scope.navigator).endsWith('Navigator]'),
    scope.navigator.userAgent,
    scope.navigator.language,
    scope.navigator.languages,
    scope.navigator.platform,
    scope.navigator.hardwareConcurrency,
  ],
  Cloudflare: () => [
    ...names(scope.Cloudflare),
    Object.keys(scope.Cloudflare),
    Object.getPrototypeOf(scope.Cloudflare.compatibilityFlags),
    Object.isFrozen(scope.Cloudflare.compatibilityFlags),
    FLAGS.map((flag) => [flag, Boolean(scope.Cloudflare.compatibilityFlags[flag])]),
  ],
  'a close event': () => {
    const event = new scope.CloseEvent('close', { code: 3000, reason: 'why', wasClean: true });
    const plain = new scope.CloseEvent('other');
    return [
      ...names(event),
      event instanceof Event,
      [event.type, event.code, event.reason, event.wasClean],
      [plain.type, plain.code, plain.reason, plain.wasClean],
      refusal(() => new scope.CloseEvent()),
    ];
  },
  ctx: ({ ctx }) => [ctx, ctx.id, ctx.storage, ctx.storage.sql, ctx.storage.kv].map(names),
  env: ({ env }) => [env.Surface, env.Surface.getByName('kinds')].map(names),
  sockets: () => {
    const pair = new scope.WebSocketPair();
    return [pair, pair[0], new scope.WebSocketRequestResponsePair('a', 'b')].map(names);
  },
  scheduler: () => String(scope.scheduler),
  messages: () => [new Request('http://a/'), new Response()].map(names),
  'results of storage': ({ ctx: { storage } }) =>
    [storage.sql.exec('SELECT 1'), storage.sql.exec('SELECT 1').raw(), storage.kv.list()].map(
      names,
    ),
  'a transaction': ({ ctx }) => ctx.storage.transaction(async (txn: object) => names(txn)),
  'a primary without replicas': ({ ctx }) => [
    isPresent(['primary', 'ensureReplicas', 'disableReplicas', 'waitForBookmark'], ctx.storage),
    isPresent(['configureReadReplication', 'container', 'version'], ctx),
  ],
};
