package tyrex.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads the stream that all engines share: CSV with a header, `type` and `timestamp` (ms) first. */
final class StreamFile {
    private StreamFile() {
    }

    static Row[] read(Path path) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(path)) {
            List<String> header = Arrays.asList(lines.readLine().split(","));
            int area = header.indexOf("area");
            int value = header.indexOf("value");
            int kind = header.indexOf("kind");
            int state = header.indexOf("state");
            // One object for each distinct text, as a program that receives events would intern its type names.
            Map<String, String> texts = new HashMap<>();
            return lines.lines().map(line -> {
                String[] cells = line.split(",", -1);
                return new Row(
                    texts.computeIfAbsent(cells[0], text -> text),
                    Long.parseLong(cells[1]),
                    area < 0 ? null : texts.computeIfAbsent(cells[area], text -> text),
                    number(cells, value),
                    number(cells, kind),
                    number(cells, state));
            }).toArray(Row[]::new);
        }
    }

    private static int number(String[] cells, int column) {
        return column < 0 || cells[column].isEmpty() ? 0 : Integer.parseInt(cells[column]);
    }
}
