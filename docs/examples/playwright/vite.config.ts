// Named, because Vite finds what a worker imports when that starts, and then reloads the page under the first test.
export default {
  build: { target: 'esnext' },
  optimizeDeps: { include: ['ctx-storage', 'ctx-storage/worker'] },
};
