// The site's settings: navigation, search, and that it works at any path of any host.

import { defineConfig } from 'vitepress';
import { apiEntries } from '../api-reference.ts';
import { SECTIONS } from '../pages.ts';
import { searchBoost } from '../search-boost.ts';

const DIST = '../../../dist';
const BASE = process.env.SITE_BASE ?? '/';

export default defineConfig({
  title: 'ctx-storage',
  description: 'SQLite in the browser: one database for all tabs, live queries, undo.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `${BASE}icon.svg` }]],
  base: BASE,
  srcDir: `${DIST}/site-source`,
  outDir: `${DIST}/site`,
  cacheDir: `${DIST}/site-cache`,
  cleanUrls: false,
  // Documents are text: a word that looks like a tag is a word.
  markdown: { html: false },
  vite: { configFile: false, build: { chunkSizeWarningLimit: 5000 } },
  themeConfig: {
    search: {
      provider: 'local',
      options: { miniSearch: { searchOptions: { boostDocument: searchBoost } } },
    },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/quick-start' },
      { text: 'API', link: '/api/index' },
      { text: 'Errors', link: '/errors' },
      { text: 'Internals', link: '/architecture' },
    ],
    sidebar: [
      ...SECTIONS.map(({ title, pages, made = [] }) => ({
        text: title,
        items: [...pages, ...made].map(({ page, title }) => ({ text: title, link: `/${page}` })),
      })),
      {
        text: 'API',
        items: apiEntries().map(({ name, page }) => ({ text: name, link: `/api/${page}` })),
      },
    ],
  },
});
