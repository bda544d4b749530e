// `cronTriggers()` describes the times at which the handler `scheduled` of the default entry point runs.

import { BINDING, type EnvBinding } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { CronExpression } from './cron-expression.ts';
import { CronObject, type CronTable } from './cron-object.ts';

/** Runs `scheduled` at times in UTC, in Cloudflare's syntax: `crons: cronTriggers(['30 9 * * MON-FRI'])`. */
export function cronTriggers(crons: readonly string[]): EnvBinding {
  return {
    [BINDING]: () => {
      const expressions = new Map(crons.map((cron) => [cron, parseCron(cron)]));
      return {
        className: 'CronObject',
        class: CronObject,
        entry: {},
        inside: (_objects, entry): CronTable => ({ expressions, entry: entry! }),
        start: (objects) =>
          (objects as DurableObjectNamespace<CronObject>).getByName('crons').wake(),
      };
    },
  };
}

function parseCron(cron: unknown): CronExpression {
  try {
    return new CronExpression(String(cron));
  } catch (error) {
    throw storageError(
      'CLASS_INVALID',
      `serve: crons: "${cron}" is not a time: ${(error as Error).message}. The fields are minute, hour, day, ` +
        "month and day of the week, such as '30 9 * * MON-FRI'.",
    );
  }
}
