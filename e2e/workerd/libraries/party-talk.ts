// A talk in a party room, step by step.

import { Listener, type Talk } from './listener.ts';

const ADDRESS = 'http://libraries/Party/room';

export const talk: Talk = async (ask) => {
  const one = await Listener.join(ask, ADDRESS);
  await one.hears(1);
  const two = await Listener.join(ask, ADDRESS);
  await two.hears(1);
  await one.hears(2);
  one.send('hello');
  await two.hears(2);
  one.send('again');
  await two.hears(3);
  two.send('mine');
  await one.hears(5);
  const here = await (await ask(ADDRESS)).json();
  two.close(4001);
  await one.hears(6);
  return { one: one.heard, two: two.heard, here };
};
