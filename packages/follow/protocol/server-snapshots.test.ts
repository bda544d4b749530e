// Tests the server's side alone: the parts of a snapshot, and the cut after the last one.

import { describe, expect, test } from 'vitest';
import {
  at,
  changes,
  close,
  cut,
  greets,
  served,
  serving,
  welcome,
} from '../testing/server-steps.ts';
import type { Position } from './messages.ts';
import type { FollowServerEvent } from './server-events.ts';

describe('a snapshot', () => {
  const BEGUN = at(5);
  const NOW = at(9, 2);
  const mark = (parts: number) => ({
    ...{ from: BEGUN, at: at(6), parts },
    next: parts < 2 ? `after ${parts}` : null,
  });
  type Life = number | null;
  /** The follower has this many of two parts, and asks for the next one. */
  const asks = (parts: number, from: Life = 7, of: Life = 7): FollowServerEvent => ({
    kind: 'next',
    connection: 1,
    message: { kind: 'next', copy: mark(parts), receipt: null },
    copyLives: { from, at: of },
    head: NOW,
  });
  /** The follower greets with this many of two parts; the object is too large for another snapshot. */
  const returns = (parts: number, from: Life = 7, of: Life = 7): FollowServerEvent => {
    const greeting = { position: null, lifeAtPosition: null, canSnapshot: false };
    const event = greets(1, 'A', { ...greeting, copy: mark(parts) });
    const copyLives = { from, at: of };
    return { ...(event as Extract<FollowServerEvent, { kind: 'hello' }>), copyLives, head: NOW };
  };
  const copying = () => serving(greets(1, 'A', { position: null, lifeAtPosition: null })).state;
  const part = (from: Position, parts: number, after: unknown) => ({
    ...{ kind: 'sendPart', connection: 1, from, at: NOW },
    ...{ parts, after },
  });

  test('[FOLW17] goes on after the parts of the follower; a cut of all later writes follows the last part', () => {
    const cutAfter = { ...cut(1, 'A', BEGUN, NOW), parts: 2 };
    expect(served(copying(), asks(1)).effects).toEqual([part(BEGUN, 1, 'after 1')]);
    expect(served(copying(), asks(2)).effects).toEqual([cutAfter]);
    expect(serving(returns(1)).effects).toEqual([welcome(1), part(BEGUN, 1, 'after 1')]);
    expect(serving(returns(2)).effects).toEqual([welcome(1), cutAfter]);
  });

  test('[FOLW17] begins again if one of its positions is in another life, or does not exist', () => {
    for (const lives of [[null], [5], [7, null], [7, 5]] as [Life, Life?][]) {
      for (const parts of [1, 2]) {
        expect(served(copying(), asks(parts, ...lives)).effects).toEqual([part(NOW, 0, null)]);
        // If the object is too large by now, no other snapshot begins.
        const refused = serving(returns(parts, ...lives));
        expect(refused.effects.at(-1)).toEqual(close(1, 'OBJECT_TOO_LARGE'));
        expect(refused.kinds).toEqual(['send', 'close']);
      }
    }
  });

  test('[FOLW17] nothing else is sent between its parts', () => {
    expect(served(copying(), changes(at(6))).effects).toEqual([]);
  });

  test('[FOLW17] a request for a part without a snapshot closes the connection', () => {
    expect(serving(asks(1)).effects).toEqual([close(1, 'HELLO_FIRST')]);
    expect(serving(greets(1, 'A'), asks(1)).effects).toEqual([close(1, 'NOT_COPYING')]);
    expect(served(copying(), asks(2), asks(2)).effects).toEqual([close(1, 'NOT_COPYING')]);
  });
});
