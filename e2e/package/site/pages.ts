// The pages of the guide, in the order of its navigation, and where each comes from.

/** A page of the site. */
export interface SitePage {
  /** The file in this repository. */
  readonly file: string;
  /** The name of its page, without an ending. */
  readonly page: string;
  readonly title: string;
}

/** A heading of the navigation. */
export interface SiteSection {
  readonly title: string;
  readonly pages: readonly SitePage[];
}

const doc = (page: string, title: string): SitePage => ({ file: `docs/${page}.md`, page, title });

export const SECTIONS: readonly SiteSection[] = [
  {
    title: 'Start',
    pages: [
      doc('quick-start', 'Quick start'),
      { file: 'README.md', page: 'overview', title: 'Overview' },
      doc('from-a-page', 'From a page'),
      doc('guarantees', 'Guarantees'),
      doc('classes', 'Classes'),
      { file: 'docs/examples/README.md', page: 'examples', title: 'Examples' },
    ],
  },
  {
    title: 'Use',
    pages: [
      doc('live', 'Live data and frameworks'),
      doc('deployments', 'Tabs and deployments'),
      doc('history', 'Undo and recovery'),
      doc('migrations', 'Migrations'),
      doc('storage-care', 'Persistence and quota'),
      doc('offline', 'Offline'),
      doc('cancelling', 'Cancelling'),
      doc('query-builders', 'Drizzle and Kysely'),
      doc('source', 'Classes from source'),
      doc('security', 'Security'),
      doc('security-sql', 'Security of SQL'),
    ],
  },
  {
    title: 'Test and move',
    pages: [
      doc('testing', 'Node, Playwright'),
      doc('inspector', 'Inspector'),
      doc('moving', 'To workerd and back'),
      doc('compatibility', 'Compatibility with workerd'),
      doc('bundlers', 'Bundlers and tsconfig'),
    ],
  },
  {
    title: 'Look up',
    pages: [
      doc('errors', 'Errors'),
      doc('troubleshooting', 'Troubleshooting'),
      doc('faq', 'Questions'),
      doc('peers', 'Beside other libraries'),
      doc('benchmarks', 'Benchmarks'),
      { file: 'CHANGELOG.md', page: 'changes', title: 'Changes' },
    ],
  },
  {
    title: 'Management API',
    pages: [doc('management', 'The API on any date'), doc('management-schedule', 'Schedule')],
  },
  {
    title: 'Internals',
    pages: [
      doc('architecture', 'Architecture'),
      doc('spec', 'Rule book'),
      doc('commit-log-format', 'Format of the log'),
      doc('testing-the-engine', 'Testing the engine'),
      { file: 'CONTRIBUTING.md', page: 'contributing', title: 'Contributing' },
      { file: 'SECURITY.md', page: 'reporting', title: 'Reporting a vulnerability' },
    ],
  },
];

export const PAGES: readonly SitePage[] = SECTIONS.flatMap(({ pages }) => pages);
