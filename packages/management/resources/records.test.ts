// Tests the RFCs' rules for records: which data is refused, and how names and content are written.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';

let provider: TestProvider;
let zone: { id: string; name: string };
beforeAll(async () => {
  provider = await startProvider();
  zone = await provider.newZone();
});
afterAll(() => provider.close());

let count = 0;

/** Creates a record. Each record gets a name of its own, unless the form has one. */
function send(form: object, to = zone) {
  const body = { name: `_s${count++}._tcp`, ...form };
  return provider.call(`POST /zones/${to.id}/dns_records`, { body });
}

const HEX_32 = 'ab'.repeat(32);
const GOOD: Readonly<Record<string, { data: Record<string, unknown>; content: string }>> = {
  SRV: {
    data: { priority: 1, weight: 65_535, port: 0, target: 'sip.example.com' },
    content: '65535 0 sip.example.com',
  },
  CAA: {
    data: { flags: 128, tag: 'issue', value: 'ca.example' },
    content: '128 issue "ca.example"',
  },
  CERT: {
    data: { type: 1, key_tag: 2, algorithm: 5, certificate: 'AQID' },
    content: '1 2 5 AQID',
  },
  DNSKEY: {
    data: { flags: 257, protocol: 3, algorithm: 13, public_key: 'AQID' },
    content: '257 3 13 AQID',
  },
  DS: {
    data: { key_tag: 1, algorithm: 13, digest_type: 2, digest: HEX_32 },
    content: `1 13 2 ${HEX_32}`,
  },
  HTTPS: {
    data: { priority: 1, target: '.', value: 'alpn="h3"' },
    content: '1 . alpn="h3"',
  },
  LOC: {
    data: {
      lat_degrees: 51,
      lat_minutes: 30,
      lat_seconds: 12.748,
      lat_direction: 'N',
      long_degrees: 180,
      long_minutes: 0,
      long_seconds: 0,
      long_direction: 'W',
      altitude: -100,
      size: 1,
      precision_horz: 10_000,
      precision_vert: 10,
    },
    content: '51 30 12.748 N 180 0 0 W -100m 1m 10000m 10m',
  },
  NAPTR: {
    data: {
      order: 1,
      preference: 2,
      flags: 'S',
      service: 'SIP+D2U',
      regex: '',
      replacement: 'x.example',
    },
    content: '1 2 "S" "SIP+D2U" "" x.example',
  },
  SMIMEA: {
    data: { usage: 3, selector: 0, matching_type: 1, certificate: HEX_32 },
    content: `3 0 1 ${HEX_32}`,
  },
  SSHFP: { data: { algorithm: 4, type: 2, fingerprint: HEX_32 }, content: `4 2 ${HEX_32}` },
  SVCB: { data: { priority: 0, target: 'svc.example', value: '' }, content: '0 svc.example' },
  TLSA: {
    data: { usage: 3, selector: 1, matching_type: 0, certificate: 'ABcd' },
    content: '3 1 0 ABcd',
  },
};

const BAD: readonly [type: string, field: string, value: unknown][] = [
  ['SRV', 'port', 99_999],
  ['SRV', 'port', -1.5],
  ['SRV', 'port', 5060.5],
  ['SRV', 'priority', 65_536],
  ['SRV', 'weight', -1],
  ['SRV', 'weight', '5'],
  ['SRV', 'target', 'a b'],
  ['SRV', 'target', '192.0.2.1'],
  ['SRV', 'target', '*.example'],
  ['CAA', 'flags', 999],
  ['CAA', 'flags', -1],
  ['CAA', 'tag', 'is sue'],
  ['CAA', 'tag', ''],
  ['CERT', 'type', 65_536],
  ['CERT', 'certificate', 'not base64!'],
  ['DNSKEY', 'protocol', 2],
  ['DNSKEY', 'algorithm', 256],
  ['DS', 'digest', 'abc'],
  ['DS', 'digest', 'ab'],
  ['DS', 'digest', 'zz'.repeat(32)],
  ['HTTPS', 'priority', 65_536],
  ['HTTPS', 'target', ''],
  ['LOC', 'lat_degrees', 500],
  ['LOC', 'lat_degrees', 91],
  ['LOC', 'long_degrees', 181],
  ['LOC', 'lat_degrees', 51.5],
  ['LOC', 'lat_minutes', 60],
  ['LOC', 'lat_seconds', 60],
  ['LOC', 'lat_direction', 'E'],
  ['LOC', 'long_direction', 'N'],
  ['LOC', 'long_minutes', 1],
  ['LOC', 'altitude', -100_001],
  ['LOC', 'size', 90_000_001],
  ['NAPTR', 'order', 65_536],
  ['NAPTR', 'flags', '!'],
  ['NAPTR', 'regex', '!^.*$!sip:a@example.com!'],
  ['NAPTR', 'replacement', 'a b'],
  ['SMIMEA', 'usage', 256],
  ['SSHFP', 'fingerprint', 'ab'],
  ['TLSA', 'certificate', 'not hexadecimal'],
  ['TLSA', 'certificate', 'abc'],
  ['TLSA', 'certificate', ''],
  ['TLSA', 'matching_type', 1],
  ['TLSA', 'selector', 1000],
];

describe('data', () => {
  test.each(Object.entries(GOOD))(
    '[MG52] %s as its RFC writes it',
    async (type, { data, content }) => {
      const made = await send({ type, data });
      expect(made.body.errors).toEqual([]);
      expect(made.body.result).toMatchObject({ data, content });
      const extra = await send({ type, data: { ...data, constructor: 'x' } });
      expect(extra.body.result.data).toEqual(data);
      for (const field of Object.keys(data)) {
        const wrong = await send({ type, data: { ...data, [field]: { deep: 1 } } });
        expect(wrong.status, field).toBe(400);
      }
    },
  );

  test.each(BAD)('[MG52] %s is refused with %s %j', async (type, field, value) => {
    const got = await send({ type, data: { ...GOOD[type]!.data, [field]: value } });
    expect(got).toMatchObject({ status: 400, body: { errors: [{ code: 9101 }] } });
    expect(got.body.errors[0].source.pointer).toMatch(/^\/data\//);
  });

  test('[MG52] NAPTR has an expression or a replacement', async () => {
    const data = { ...GOOD.NAPTR!.data, flags: 'U', regex: '!^.*$!sip:a@example.com!' };
    const made = await send({ type: 'NAPTR', data: { ...data, replacement: '.' } });
    expect(made.body.result.content).toBe('1 2 "U" "SIP+D2U" "!^.*$!sip:a@example.com!" .');
  });

  test('[MG52] LOC has the sizes of RFC 1876 where none are sent', async () => {
    const { lat_degrees, lat_direction, long_degrees, long_direction, altitude } = GOOD.LOC!.data;
    const data = { lat_degrees, lat_direction, long_degrees, long_direction, altitude };
    const made = await send({ type: 'LOC', data });
    expect(made.body.result.content).toBe('51 0 0 N 180 0 0 W -100m 1m 10000m 10m');
  });

  test('[MG52] URI keeps the priority beside its data, and needs it', async () => {
    const uri = { type: 'URI', priority: 10, data: { weight: 1, target: 'https://example.com/' } };
    const made = await send(uri);
    expect(made.body.result).toMatchObject({ ...uri, content: '1 "https://example.com/"' });
    const path = `/zones/${zone.id}/dns_records/${made.body.result.id}`;
    const patched = await provider.call(`PATCH ${path}`, { body: { priority: 20 } });
    expect(patched.body.result.priority).toBe(20);
    const { priority, ...without } = uri;
    for (const wrong of [without, { ...uri, priority: 65_536 }]) {
      const got = await send(wrong);
      expect(got.status).toBe(400);
      expect(got.body.errors[0].source.pointer).toBe('/priority');
    }
    for (const target of ['', 'no uri', '//example.com']) {
      expect((await send({ ...uri, data: { weight: 1, target } })).status).toBe(400);
    }
  });
});

describe('content', () => {
  test('[MG52] a null MX is the only MX record and has priority 0', async () => {
    const name = 'nomail';
    const nullMx = { type: 'MX', name, content: '.', priority: 0 };
    expect((await send({ ...nullMx, priority: 10 })).status).toBe(400);
    const made = await send(nullMx);
    expect(made.body.result).toMatchObject({ content: '.', priority: 0 });
    const other = { ...nullMx, content: 'mx.example.com', priority: 5 };
    expect(await send(other)).toMatchObject({ status: 400, body: { errors: [{ code: 81054 }] } });
    expect((await send({ ...other, name: 'mail' })).status).toBe(200);
    expect((await send({ ...nullMx, name: 'mail' })).status).toBe(400);
    const path = `/zones/${zone.id}/dns_records/${made.body.result.id}`;
    const body = { content: 'mx.example.com', priority: 5 };
    expect((await provider.call(`PATCH ${path}`, { body })).status).toBe(200);
  });

  test.each([
    ['CNAME', '.'],
    ['CNAME', '192.0.2.1'],
    ['CNAME', '*.example.com'],
    ['MX', '192.0.2.1'],
    ['MX', 'a..example'],
    ['NS', '2001:db8::1'],
    ['PTR', ''],
    ['OPENPGPKEY', 'not base64!'],
    ['A', '256.0.0.1'],
    ['A', '1.2.3'],
    ['AAAA', '2001:db8:::1'],
  ])('[MG52] %s with the content %s is refused', async (type, content) => {
    const got = await send({ type, content, priority: 0 });
    expect(got).toMatchObject({ status: 400, body: { errors: [{ code: 9005 }] } });
  });

  test('[MG52] a content has at most 65,535 bytes, not characters', async () => {
    const contents = [
      'x'.repeat(65_535),
      'x'.repeat(65_536),
      'é'.repeat(32_767),
      'é'.repeat(32_768),
    ];
    const statuses: number[] = [];
    for (const content of contents) statuses.push((await send({ type: 'TXT', content })).status);
    expect(statuses).toEqual([200, 400, 200, 400]);
  });

  test('[MG52] one host or address is one content in every spelling', async () => {
    const rows = [
      ['CNAME', 'WWW.Example.COM.', 'www.example.com'],
      ['MX', 'bücher.example', 'xn--bcher-kva.example'],
      ['AAAA', '2001:DB8:0:0::1', '2001:db8::1'],
      ['TXT', 'As It Is', 'As It Is'],
    ];
    for (const [type, sent, kept] of rows) {
      const made = await send({ type, content: sent, priority: 1 });
      expect(made.body.result.content).toBe(kept);
      const again = { type, name: made.body.result.name, content: kept, priority: 1 };
      expect(await send(again)).toMatchObject({ status: 400, body: { errors: [{ code: 81058 }] } });
    }
  });
});

describe('fields that are null', () => {
  test('[MG52] fields that are null count as fields that the record does not have', async () => {
    const nulls = { data: null, priority: null, ttl: null, proxied: null, tags: null };
    const plain = await send({ type: 'A', content: '192.0.2.7', ...nulls, settings: null });
    expect(plain.body.errors).toEqual([]);
    expect(plain.body.result).toMatchObject({ ttl: 1, proxied: false, tags: [], settings: {} });
    const { data, content } = GOOD.SSHFP!;
    const made = await send({ type: 'SSHFP', content: null, data, comment: null });
    expect(made.body.result).toMatchObject({ data, content, comment: null });
    const missing = await send({ type: 'A', content: null });
    expect(missing).toMatchObject({ status: 400, body: { errors: [{ code: 9005 }] } });
  });

  test('[MG52] fields that are null in a patch leave the record unchanged, except for the comment', async () => {
    const body = { name: 'patched', type: 'A', content: '192.0.2.7', ttl: 60, comment: 'first' };
    const made = await send(body);
    const path = `/zones/${zone.id}/dns_records/${made.body.result.id}`;
    const nulls = { content: null, data: null, ttl: null, comment: null };
    const patched = await provider.call(`PATCH ${path}`, { body: nulls });
    expect(patched.body.result).toMatchObject({ content: '192.0.2.7', ttl: 60, comment: null });
  });
});

describe('names', () => {
  const newZone = (name: string) =>
    provider.call('POST /zones', { body: { name, account: { id: ACCOUNT_ID } } });

  test.each([
    ['bücher-0.example', 'xn--bcher-0-n2a.example'],
    ['परीक्षा.भारत', 'xn--11b5bs3a9aj6g.xn--h2brj9c'],
    ['XN--FSQ.example', 'xn--fsq.example'],
    ['例子。example', 'xn--fsqu00a.example'],
  ])('[MG52] the zone %s is kept as %s, once', async (name, ascii) => {
    const made = await newZone(name);
    expect(made.body.errors).toEqual([]);
    expect(made.body.result.name).toBe(ascii);
    expect(await newZone(ascii)).toMatchObject({ status: 400, body: { errors: [{ code: 1061 }] } });
    const found = await provider.call(`GET /zones?name=${encodeURIComponent(name)}`);
    expect(found.body.result).toMatchObject([{ name: ascii }]);
    const record = await send({ type: 'A', name, content: '192.0.2.1' }, made.body.result);
    expect(record.body.result.name).toBe(ascii);
    const listed = await provider.call(
      `GET /zones/${made.body.result.id}/dns_records?name=${encodeURIComponent(name)}`,
    );
    expect(listed.body.result).toHaveLength(1);
  });

  test.each([
    '*.example',
    '*',
    'a.*.example',
    'example',
    '192.0.2.1',
    'a..example',
    '-a.example',
    'a-.example',
    'xn--a.example',
    'xn--.example',
    `${'ü'.repeat(60)}.example`,
    'a%.example',
    'a％.example',
    '\u00ad.example',
  ])('[MG52] %s is refused as the name of a zone', async (name) => {
    expect((await newZone(name)).status).toBe(400);
  });

  test('[MG52] the name of an SRV record is service, protocol and base name', async () => {
    const form = { type: 'SRV', data: GOOD.SRV!.data };
    for (const [name, kept] of [
      ['_sip._udp', `_sip._udp.${zone.name}`],
      [`_sip._udp.a.${zone.name}`, `_sip._udp.a.${zone.name}`],
    ]) {
      expect((await send({ ...form, name })).body.result?.name).toBe(kept);
    }
    const made = await send(form);
    const path = `/zones/${zone.id}/dns_records/${made.body.result.id}`;
    const wrong = ['plain', '@', '_sip', 'sip.tcp', '_sip.tcp', 'a._sip._tcp', '*._tcp', '*'];
    for (const name of wrong) {
      const refused = { status: 400, body: { errors: [{ code: 9000 }] } };
      expect(await send({ ...form, name }), name).toMatchObject(refused);
      expect(await provider.call(`PATCH ${path}`, { body: { name } })).toMatchObject(refused);
    }
    const plain = await send({ type: 'TXT', name: 'plain', content: 'x' });
    const other = `/zones/${zone.id}/dns_records/${plain.body.result.id}`;
    expect((await provider.call(`PATCH ${other}`, { body: form })).status).toBe(400);
  });

  test('[MG52] a wildcard is a whole first label', async () => {
    const form = { type: 'A', content: '192.0.2.9' };
    for (const [name, kept] of [
      ['*', `*.${zone.name}`],
      ['*.sub', `*.sub.${zone.name}`],
      ['परीक्षा', `xn--11b5bs3a9aj6g.${zone.name}`],
    ]) {
      const made = await send({ ...form, name });
      expect(made.body.result?.name).toBe(kept);
    }
    for (const name of ['a.*', '*a', 'a*.sub', '**', 'a b', '.', 'a..b']) {
      expect((await send({ ...form, name })).status, name).toBe(400);
    }
  });
});
