// The API of the tests: an emulated provider, in memory, whose day they choose.

import {
  createManagementApi,
  defineSchedule,
  ManagementObject,
  MovableClock,
  SCHEDULE,
} from 'api-deprecation-emulator';
import { createObjects } from 'ctx-storage/node';
import { Api } from '../src/api.ts';

const ADDRESS = 'https://api.example/client/v4';
const ACCOUNT = '0123456789abcdef0123456789abcdef';

// The schedule does not say when an end was announced. This day is an example: add the one on which you have read it.
const ENTRY = SCHEDULE.find(({ id }) => id === 'cname-flattening');
const schedule = defineSchedule(SCHEDULE, [{ ...ENTRY, announced: '2024-09-13' }]);

export async function startProvider() {
  const objects = await createObjects({ ManagementObject });
  const clock = new MovableClock('2024-01-01');
  const { fetch } = createManagementApi({
    namespace: objects.env.ManagementObject,
    accounts: [{ id: ACCOUNT, name: 'Mine' }],
    clock,
    schedule,
  });
  const send: typeof globalThis.fetch = (input, init) => fetch(new Request(input, init));
  const newZone = { name: 'example.com', account: { id: ACCOUNT } };
  const { id: zone } = await new Api(ADDRESS, send).call<{ id: string }>('POST', '/zones', newZone);
  return {
    zone,
    send,
    /** A client that has heard nothing yet. */
    client: (through = send) => new Api(ADDRESS, through),
    moveTo: (day: string) => clock.moveTo(day),
    close: () => objects.close(),
  };
}
