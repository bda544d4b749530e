// How calls of code that belongs to no object, in the thread of its host, enter and leave.

import { isTaskExact } from '../../src/io/current-context.ts';
import { FREE, type PartyIo } from '../../src/stubs/party.ts';
import type { Turns } from '../io/turns.ts';

/**
 * Where the running task is known only by its turn, outside code must not share a turn with one: its
 * calls begin and end in turns of their own. `nextTurn` begins a turn that belongs to no object.
 */
export function outsideIo({ nextTurn }: Pick<Turns, 'nextTurn'>): PartyIo {
  if (isTaskExact) return FREE;
  const enter = FREE.entrance();
  const apart = <T>(start: () => T | PromiseLike<T>) =>
    new Promise<T>((resolve, reject) => {
      nextTurn(() => {
        enter(start).then(
          (value) => nextTurn(() => resolve(value)),
          (error) => nextTurn(() => reject(error)),
        );
      });
    });
  return { ...FREE, send: apart, receive: apart };
}
