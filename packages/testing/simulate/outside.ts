// The outside world of a run, as its requests see it: slow, and sometimes failing, before or after a request arrives.

import type { FaultsOfRun } from './faults.ts';
import type { Tools } from './tools.ts';
import type { World } from './world.ts';

/** The functions that draw random values from the seed. */
export type Draw = Pick<Tools<object>, 'int' | 'pick' | 'chance'>;

/** Answers a request. */
export type Answers = (
  request: Request,
  tools: { readonly draw: Draw },
) => Response | Promise<Response>;

const DELAYS_MS = [0, 1, 20, 300];

/** Returns the `fetch` of the run's world. */
export function outsideOf(
  world: World,
  faults: FaultsOfRun,
  answers: Answers,
  draw: Draw,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const text = `${request.method} ${request.url}`;
    const fails = faults.takeFetchFails();
    await world.wait(world.random.pick(DELAYS_MS));
    if (fails === 'before') throw networkError(text, 'is not sent');
    world.note(`${text} arrives`);
    const response = await answers(request, { draw });
    await world.wait(world.random.pick(DELAYS_MS));
    if (fails === 'after') throw networkError(text, 'arrives, and its answer is lost');
    return response;
  };
}

function networkError(text: string, fact: string): TypeError {
  return new TypeError(`fetch failed: in the simulation, ${text} ${fact}.`);
}
