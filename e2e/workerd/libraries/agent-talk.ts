// A talk with an agent over two sockets: messages at the same time, calls, state.

import { Listener, type Talk } from './listener.ts';

const ADDRESS = 'http://libraries/Desk/room';
/** An agent sends who it is, its state, its MCP servers, and then the messages of its class. */
const GREETINGS = 4;

export const talk: Talk = async (ask) => {
  const one = await Listener.join(ask, ADDRESS);
  await one.hears(GREETINGS);
  const two = await Listener.join(ask, ADDRESS);
  await two.hears(GREETINGS);
  one.send('hello');
  two.send('there');
  await one.hears(GREETINGS + 1);
  await two.hears(GREETINGS + 1);
  one.send({ type: 'rpc', id: '1', method: 'add', args: [2] });
  await one.hears(GREETINGS + 3); // the state, and the result
  await two.hears(GREETINGS + 2);
  one.send({ type: 'rpc', id: '2', method: 'fail', args: [] });
  await one.hears(GREETINGS + 4);
  one.send({ type: 'rpc', id: '3', method: 'run', args: [] });
  await one.hears(GREETINGS + 5);
  two.send({ type: 'cf_agent_state', state: { count: 40 } });
  await one.hears(GREETINGS + 6);
  two.close(1000);
  return { one: one.heard, two: two.heard };
};
