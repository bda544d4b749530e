// One sequence of calls over many days. Its answers must be equal wherever it runs.
//
// This module imports nothing, so that it runs in Node, in a page and on workerd. Its time stands still, and its ids
// are counted up.

export const SCENARIO_ACCOUNT = 'a'.repeat(32);
const BASE = 'https://api.example/client/v4';

/** Options of the provider that make two runs comparable: a fixed time and counted ids. */
export function scenarioOptions() {
  let next = 0;
  return {
    clock: { now: () => Date.UTC(2026, 0, 1) },
    random: (bytes: Uint8Array) => {
      next += 1;
      new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, next);
    },
    accounts: [{ id: SCENARIO_ACCOUNT, name: 'First' }],
  };
}

/** Performs all calls, and returns each answer as text: its status, the headers of the schedule and its body. */
export async function runScenario(
  fetch: (request: Request) => Promise<Response>,
): Promise<readonly string[]> {
  const transcript: string[] = [];

  async function call(operation: string, at?: string, body?: unknown) {
    const [method, path] = operation.split(' ') as [string, string];
    const headers = { 'content-type': 'application/json', ...(at && { 'x-emulator-date': at }) };
    const request = new Request(BASE + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await fetch(request);
    const text = await response.text();
    const told = ['deprecation', 'sunset', 'link', 'allow'].map((name) =>
      response.headers.get(name),
    );
    transcript.push(`${operation} ${at ?? ''} ${response.status} ${told.join(' ')} ${text}`);
    return JSON.parse(text).result;
  }

  const account = `/accounts/${SCENARIO_ACCOUNT}`;
  const zone = await call('POST /zones', undefined, {
    name: 'example.com',
    account: { id: SCENARIO_ACCOUNT },
  });
  const path = `/zones/${zone.id}`;
  const records = `${path}/dns_records`;
  for (let i = 1; i <= 3; i++) {
    await call(`POST ${records}`, undefined, {
      type: 'A',
      name: `h${i}`,
      content: `192.0.2.${i}`,
      proxied: i === 2,
    });
  }
  const srv = { priority: 1, weight: 2, port: 3, target: 'x.example.com', service: '_sip' };
  const dates = [
    '2020-04-01',
    '2023-07-01',
    '2024-05-30',
    '2024-05-31',
    '2024-10-01',
    '2025-06-15',
  ];
  for (const at of dates) {
    await call(`GET ${records}?order=content&direction=desc&per_page=2&page=2`, at);
    await call(`GET ${records}?name.contains=H&proxied=true`, at);
    await call(`POST ${records}`, at, { type: 'A', name: 'bad', content: 'no' });
    await call(`POST ${records}`, at, { type: 'SRV', name: `_sip._tcp.d${at}`, data: srv });
    await call(`GET ${path}/settings`, at);
    await call(`PATCH ${path}/settings`, at, { items: [{ id: 'cname_flattening', value: 'on' }] });
    await call(`GET ${path}/dns_settings`, at);
    await call(`PATCH ${path}/dns_settings/use_apex_ns`, at, { enabled: true });
    await call(`POST ${path}/firewall/rules`, at, [{ filter: {}, action: 'block' }]);
    await call(`GET ${path}/firewall/waf/packages`, at);
    await call(`GET /organizations/${SCENARIO_ACCOUNT}/members`, at);
    await call(`PUT ${account}`, at, {
      name: `At ${at}`,
      settings: { default_nameservers: 'custom.account' },
    });
    await call(`GET ${account}/dns_settings`, at);
    await call('GET /accounts', at);
    await call('GET /user/billing/history', at);
  }
  await call(`PUT ${records}`);
  await call('GET /nonsense');
  await call(`DELETE ${path}`);
  await call(`GET ${path}`);
  return transcript;
}
