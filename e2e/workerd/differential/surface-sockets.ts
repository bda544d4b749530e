// Questions about the end of a pair of sockets: whether one end may go on after the other has closed.

import { attempt, type Questions, scope, type Untyped } from './surface-answers.ts';

/** Two ends that are accepted, and the events of both. Errors after a close are left out: they are a row of their own. */
function pairOf(...options: unknown[]) {
  const { 0: one, 1: other } = new scope.WebSocketPair();
  const heard: unknown[] = [];
  for (const [name, socket] of Object.entries({ one, other })) {
    socket.addEventListener('message', ({ data }: Untyped) => {
      heard.push([name, data, socket.readyState]);
    });
    socket.addEventListener('close', ({ code, reason, wasClean }: Untyped) => {
      heard.push([name, code, reason, wasClean, socket.readyState]);
    });
  }
  one.accept(...options);
  other.accept();
  const states = () => [one.readyState, other.readyState];
  return { one, other, heard, states };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 50));

async function afterClose(...options: unknown[]) {
  const { one, other, heard, states } = pairOf(...options);
  other.close(4003, 'ended');
  await soon();
  const closed = states();
  const sent = await attempt(() => one.send('still open'));
  const answered = await attempt(() => one.close(4001, 'later'));
  await soon();
  return { closed, sent, answered, ended: states(), heard };
}

async function inClose(...options: unknown[]) {
  const { one, other, heard, states } = pairOf(...options);
  one.addEventListener('close', async () => {
    heard.push(await attempt(() => one.send('in the event')));
    heard.push(await attempt(() => one.close(4009, 'answer')));
  });
  other.close(4003, 'ended');
  await soon();
  // An attempt is an await of its own, so its result may come after an event of the other end.
  return { ended: states(), heard: heard.map((one) => JSON.stringify(one)).sort() };
}

export const SOCKETS: Questions = {
  'after a close': () => afterClose(),
  'after a close, half open': () => afterClose({ allowHalfOpen: true }),
  'after a close, not half open': () => afterClose({ allowHalfOpen: false }),
  'after a close, half open by other values': () => afterClose({ allowHalfOpen: 'yes' }),
  'after a close, null': () => afterClose(null),
  'in the event of a close': () => inClose(),
  'in the event of a close, half open': () => inClose({ allowHalfOpen: true }),
  'a close without a code': async () => {
    const { other, heard, states } = pairOf();
    other.close();
    await soon();
    return [heard, states()];
  },
  'closes of both ends': async () => {
    const { one, other, heard, states } = pairOf({ allowHalfOpen: true });
    other.close(4001, 'other');
    one.close(4002, 'one');
    await soon();
    return [heard, states()];
  },
  'messages before a close': async () => {
    const { one, other, heard, states } = pairOf();
    one.send('first');
    other.send('second');
    other.close(4001, 'ended');
    await soon();
    return [heard, states()];
  },
  'other values as options': () =>
    Promise.all(
      [5, 'text', true, Symbol.iterator].map((given) => attempt(() => pairOf(given) && 'none')),
    ),
};
