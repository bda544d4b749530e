// The files of the inspector's page.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the page is, and its socket. */
export const INSPECTOR = '/__ctx-storage';

const SCRIPT = 'dev-inspector.js';

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Objects</title>
<style>
  :root { color-scheme: light dark; }
  html, body { height: 100%; margin: 0; }
</style>
<body>
<script type="module" src="${INSPECTOR}/${SCRIPT}"></script>
</body>
</html>
`;

/** The answer for a path; undefined if it is no path of the inspector. `folder`: of this package's scripts. */
export function inspectorFile(pathname: string, folder: string): Response | undefined {
  if (pathname === INSPECTOR) return answer(HTML, 'text/html; charset=utf-8');
  const name = /^\/__ctx-storage\/([\w-]+\.js)$/.exec(pathname)?.[1];
  if (name === undefined || !existsSync(join(folder, name))) return undefined;
  return answer(readFileSync(join(folder, name), 'utf8'), 'text/javascript');
}

function answer(body: string, type: string): Response {
  return new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-store' } });
}
