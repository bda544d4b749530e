export default { build: { target: 'esnext' } };
