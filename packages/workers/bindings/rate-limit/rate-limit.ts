// `rateLimit()` describes a limit of calls per key that becomes a member of `env`.

import { BINDING, type EnvBinding } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { RateLimitObject } from './rate-limit-object.ts';
import { isPeriod, type Period, RateLimiter } from './rate-limiter.ts';

export interface RateLimitOptions {
  /** How many calls of a key succeed in a period: more than 0. */
  readonly limit: number;
  /** The length of a period in seconds. @default 60 */
  readonly period?: Period;
  /** The name of the counts, which bindings with the same id share. @default the name of the binding */
  readonly id?: string;
}

/** A rate limit: `bindings: { LIMITER: rateLimit({ limit: 100, period: 60 }) }`. */
export function rateLimit({ limit, period = 60, id }: RateLimitOptions): EnvBinding {
  return {
    [BINDING]: (binding) => {
      checkOptions(binding, limit, period);
      return {
        className: 'RateLimitObject',
        class: RateLimitObject,
        client: (objects) =>
          new RateLimiter(objects as DurableObjectNamespace<RateLimitObject>, id ?? binding, {
            limit,
            period,
          }),
      };
    },
  };
}

function checkOptions(binding: string, limit: unknown, period: unknown): void {
  if (!(typeof limit === 'number' && limit > 0)) {
    throw storageError(
      'CLASS_INVALID',
      `serve: limit of binding ${binding} is ${limit}; give a number that is greater than 0.`,
    );
  }
  if (isPeriod(period)) return;
  throw storageError(
    'CLASS_INVALID',
    `serve: period of binding ${binding} is ${period}; give 10 or 60 seconds.`,
  );
}
