// `ctx-storage/vitest` of the packed package: packages that the Worker and its tests import.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { linkPackages } from '../package/installed.ts';
import { VitestProject } from './vitest-project.ts';

let project: VitestProject;

beforeEach(async () => {
  project = await VitestProject.make();
});
afterEach(() => project.remove());

/** Writes an installed package. */
function install(
  manifest: Readonly<Record<string, unknown>>,
  texts: Readonly<Record<string, string>>,
): void {
  const folder = `node_modules/${manifest.name}`;
  project.write(`${folder}/package.json`, JSON.stringify({ type: 'module', ...manifest }));
  for (const [name, text] of Object.entries(texts)) project.write(`${folder}/${name}`, text);
}

test('[VT16] a package has the build that it has on workerd, for the Worker and for tests', () => {
  const texts = Object.fromEntries(
    ['workerd', 'worker', 'node', 'other'].map((name) => [
      `${name}.js`,
      `export const build = '${name}';`,
    ]),
  );
  const exports = { worker: './worker.js', node: './node.js', default: './other.js' };
  install({ name: 'of-workerd', exports: { workerd: './workerd.js', ...exports } }, texts);
  install({ name: 'of-worker', exports }, texts);
  project.write(
    'src/index.ts',
    `import { build as one } from 'of-workerd';
    import { build as other } from 'of-worker';
    export class Room {}
    export default { fetch: () => new Response(one + ' ' + other) };`,
  );
  project.write(
    'test/a.test.ts',
    `import { SELF } from 'cloudflare:test';
    import { build } from 'of-workerd';
    import { expect, it } from 'vitest';
    it('Worker', async () => expect(await (await SELF.fetch('http://x/')).text()).toBe('workerd worker'));
    it('test', () => expect(build).toBe('workerd'));`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed).toEqual(['Worker', 'test']);
});

test('[VT17] a package that imports modules of workerd has the classes, the env and the module that the Worker has', () => {
  install(
    { name: 'library', main: 'index.js', devDependencies: { wrangler: '*' } },
    {
      'index.js': "export { nameOf } from './chunk.js'; export { EmailMessage } from './mail.mjs';",
      'chunk.js':
        "import { env, DurableObject } from 'cloudflare:workers'; export { DurableObject }; export const nameOf = () => env.NAME;",
      'mail.mjs': "export { EmailMessage } from 'cloudflare:email';",
    },
  );
  project.configure("{ miniflare: { bindings: { NAME: 'given' } } }");
  project.write(
    'src/index.ts',
    `import { nameOf, EmailMessage } from 'library';
    import { DurableObject as Theirs } from 'library/chunk.js';
    import { DurableObject } from 'cloudflare:workers';
    export class Room extends Theirs {}
    export default {
      fetch: () => Response.json([nameOf(), typeof EmailMessage, Theirs === DurableObject]),
    };`,
  );
  project.write(
    'test/a.test.ts',
    `import { SELF } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    it('Worker', async () => expect(await (await SELF.fetch('http://x/')).json()).toEqual(['given', 'function', true]));`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed).toEqual(['Worker']);
});

test('[VT17] capnweb’s build for Workers passes its own targets, those of workerd, and stubs of objects', () => {
  linkPackages(project.folder, ['capnweb']);
  project.write(
    'src/index.ts',
    `import { newWebSocketRpcSession, newWorkersRpcResponse, RpcTarget } from 'capnweb';
    import { DurableObject, RpcTarget as Native } from 'cloudflare:workers';
    class Deep extends RpcTarget { name() { return 'deep'; } }
    class Own extends Native { name() { return 'native'; } }
    class Api extends RpcTarget {
      constructor(env) { super(); this.env = env; }
      hello(name) { return 'hello ' + name; }
      deep() { return new Deep(); }
      native() { return new Own(); }
      stub() { return this.env.ROOM.getByName('other'); }
    }
    export class Room extends DurableObject {
      kind() { return 'room'; }
      fetch(request) { return newWorkersRpcResponse(request, new Api(this.env)); }
    }
    export default {
      async fetch(request, env) {
        const room = env.ROOM.getByName('one');
        const { webSocket } = await room.fetch('http://x/', { headers: { Upgrade: 'websocket' } });
        webSocket.accept();
        const api = newWebSocketRpcSession(webSocket);
        const answers = [api.hello('you'), api.deep().name(), api.native().name(), api.stub().kind()];
        return Response.json(await Promise.all(answers));
      },
    };`,
  );
  project.write(
    'test/a.test.ts',
    `import { SELF } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    it('calls', async () =>
      expect(await (await SELF.fetch('http://x/')).json()).toEqual(['hello you', 'deep', 'native', 'room']));`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed).toEqual(['calls']);
});

test('[VT16] beside ctxStorage(), decorators of the Worker are still compiled', () => {
  linkPackages(project.folder, ['esbuild']);
  project.write(
    'vitest.config.ts',
    `import { ctxStorage } from 'ctx-storage/vite';
    import { cloudflareTest } from 'ctx-storage/vitest';
    export default { plugins: [ctxStorage(), cloudflareTest()] };`,
  );
  project.write(
    'src/index.ts',
    `const loud = (method) => function () { return method.call(this) + '!'; };
    export class Room { @loud name() { return 'room'; } }
    export default { fetch: () => new Response(new Room().name()) };`,
  );
  project.write(
    'test/a.test.ts',
    `import { SELF } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    it('decorates', async () => expect(await (await SELF.fetch('http://x/')).text()).toBe('room!'));`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed, output).toEqual(['decorates']);
});
