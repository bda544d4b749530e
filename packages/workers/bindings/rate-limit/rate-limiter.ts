// The rate limit that the worker's code calls as `env.LIMITER`. Its arguments and error messages equal those of
// miniflare.

import type { DurableObjectNamespace, DurableObjectStub } from '@ctx-storage/core/object';
import type { RateLimitObject } from './rate-limit-object.ts';

/** The length of a period in seconds. */
export type Period = 10 | 60;

interface Rate {
  readonly limit: number;
  readonly period: number;
}

const OPTIONS: readonly string[] = ['key', 'limit', 'period'];

export function isPeriod(value: unknown): value is Period {
  return value === 10 || value === 60;
}

export class RateLimiter {
  readonly #objects: DurableObjectNamespace<RateLimitObject>;
  readonly #id: DurableObjectStub['id'];
  readonly #rate: Rate;

  constructor(objects: DurableObjectNamespace<RateLimitObject>, name: string, rate: Rate) {
    this.#objects = objects;
    this.#id = objects.idFromName(name);
    this.#rate = rate;
  }

  /** Returns whether a call of the key is within the limit, and counts it if so. */
  async limit(options: { readonly key?: string }): Promise<{ success: boolean }> {
    const { key, limit, period } = readOptions(options, this.#rate);
    const success = await this.#objects.get(this.#id).take(key, limit, period);
    return { success };
  }
}

/**
 * Reads the options of one call, which may have its own `limit` and `period`, as in miniflare.
 *
 * @throws Error if an option is wrong
 */
function readOptions(options: unknown, rate: Rate): Rate & { readonly key: string } {
  check(typeof options === 'object' && options !== null, 'invalid rate limit options');
  const unknown = Object.keys(options).filter((name) => !OPTIONS.includes(name));
  check(unknown.length === 0, `bad rate limit options: [${unknown.join(',')}]`);
  const given: { readonly [name: string]: unknown } = { ...options };
  const { key = '', limit = rate.limit, period = rate.period } = given;
  check(typeof key === 'string', `invalid key: ${key}`);
  check(typeof limit === 'number', `limit must be a number: ${limit}`);
  check(typeof period === 'number', `period must be a number: ${period}`);
  check(isPeriod(period), `unsupported period: ${period}`);
  return { key, limit, period };
}

function check(isValid: boolean, message: string): asserts isValid {
  if (!isValid) throw new Error(message);
}
