// SPDX-License-Identifier: MIT
// Reads Parquet for tests/export/check: `node parquet.mjs duckdb QUERY` prints the rows of a query as DuckDB has them,
// `node parquet.mjs hyparquet FILE...` those of files as another reader has them, with what each says of itself.

const plain = (key, value) => (typeof value === "bigint" ? Number(value) : value);
const [reader, ...rest] = process.argv.slice(2);

if (reader === "duckdb") {
	const { DuckDBInstance } = await import("@duckdb/node-api");
	const connection = await (await DuckDBInstance.create(":memory:")).connect();
	const all = [];
	for (const query of rest)
		all.push((await connection.runAndReadAll(query)).getRowObjectsJS());
	console.log(JSON.stringify(all, plain));
} else {
	const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await import("hyparquet");
	const { compressors } = await import("hyparquet-compressors");
	const all = [];
	for (const path of rest) {
		const file = await asyncBufferFromFile(path);
		const metadata = await parquetMetadataAsync(file);
		const notes = Object.fromEntries(metadata.key_value_metadata.map(({ key, value }) => [key, value]));
		all.push({ notes, groups: metadata.row_groups.length, rows: await parquetReadObjects({ file, compressors }) });
	}
	console.log(JSON.stringify(all, plain));
}
