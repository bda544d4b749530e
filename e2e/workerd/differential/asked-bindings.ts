// The bindings that are asked the same questions in workerd and here, and workerd's answers.

import {
  d1,
  type EnvBinding,
  kv,
  r2,
  rateLimit,
} from '../../../packages/workers/bindings/index.ts';
import { askWorkerd, type Script } from '../workerd.ts';
import { d1All } from './d1.ts';
import { d1Libraries } from './d1-libraries.ts';
import { kvAll } from './kv.ts';
import { r2All } from './r2-more.ts';
import { RATE_LIMITS, rateLimitsAll } from './rate-limits.ts';

export type Answers = Record<string, unknown>;
/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

export interface AskedBinding {
  /** The name of the binding in the list of differences. */
  readonly kind: 'kv' | 'd1' | 'd1 libraries' | 'r2' | 'rate limits';
  /** Asks everything. */
  readonly ask: (env: Untyped) => Promise<Answers>;
  /** The questions for workerd: a file, and an expression with one of its exports. */
  readonly there: { readonly file: string; readonly expression: string };
  readonly script: Partial<Script>;
  readonly bindings: Readonly<Record<string, EnvBinding>>;
}

export const ASKED_BINDINGS: readonly AskedBinding[] = [
  {
    kind: 'kv',
    ask: ({ KV }) => kvAll(KV),
    there: { file: 'kv.ts', expression: 'kvAll(env.KV)' },
    script: { kvNamespaces: ['KV'] },
    bindings: { KV: kv() },
  },
  {
    kind: 'd1',
    ask: ({ DB }) => d1All(DB),
    there: { file: 'd1.ts', expression: 'd1All(env.DB)' },
    script: { d1Databases: ['DB'] },
    bindings: { DB: d1() },
  },
  {
    kind: 'd1 libraries',
    ask: ({ DB }) => d1Libraries(DB),
    there: { file: 'd1-libraries.ts', expression: 'd1Libraries(env.DB)' },
    script: { d1Databases: ['DB'] },
    bindings: { DB: d1() },
  },
  {
    kind: 'r2',
    ask: ({ R2 }) => r2All(R2),
    there: { file: 'r2-more.ts', expression: 'r2All(env.R2)' },
    script: { r2Buckets: ['R2'], isSilent: true },
    bindings: { R2: r2() },
  },
  {
    kind: 'rate limits',
    ask: rateLimitsAll,
    there: { file: 'rate-limits.ts', expression: 'rateLimitsAll(env)' },
    script: { rateLimits: RATE_LIMITS },
    bindings: Object.fromEntries(
      Object.entries(RATE_LIMITS).map(([name, options]) => [name, rateLimit(options)]),
    ),
  },
];

export async function askedInWorkerd({
  there: { file, expression },
  script,
}: AskedBinding): Promise<Answers> {
  const answers = await askWorkerd({
    main: `
      import * as asked from './${file}';
      export default {
        fetch: async (_request, env) => Response.json(await asked.${expression}),
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    ...script,
  });
  return answers as Answers;
}
